#include "examples/train/classification_options.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace incontext::examples::train {

namespace {

using Names = std::vector<std::string>;

}  // namespace

std::string key_query_file(const std::string& weights) { return weights + ".key_query.npy"; }

std::string output_file(const std::string& weights) { return weights + ".output.npy"; }

void add_options(CLI::App& app, ClassificationOptions& o) {
  const auto positive = [](double value) { return value > 0 && value <= 1e3; };
  add_choice<ClassificationFigure>(app, "--figure", o.figure, "What to show, see above",
                                   {{"ends", ClassificationFigure::ends},
                                    {"curves", ClassificationFigure::curves},
                                    {"7", ClassificationFigure::models},
                                    {"10", ClassificationFigure::transience},
                                    {"16", ClassificationFigure::widths},
                                    {"17", ClassificationFigure::strategies},
                                    {"18", ClassificationFigure::learning_rates},
                                    {"valley", ClassificationFigure::valley}});
  add_full_flag(app, o);
  add_choice<MapChoice>(app, "--map", o.maps, "The attention that is trained",
                        {{"linear", MapChoice::linear}, {"softmax", MapChoice::softmax}, {"both", MapChoice::both}});
  show_no_default(add_count<std::int64_t>(app, "--dimension", o.dimension,
                                          "Dimension of the inputs; default: 5 for linear attention, 3 for softmax", 2,
                                          100));
  add_count<std::int64_t>(app, "--classes", o.classes, "Number of classes", 2, 100);
  add_count<std::int64_t>(app, "--context-length", o.context_length, "Points per context, a multiple of the classes", 2,
                          100000);
  show_no_default(add_counts(app, "--dimensions", o.dimensions, "7, 10, 16, 17, 18, valley: the dimensions", 2, 100));
  show_no_default(add_counts(app, "--context-lengths", o.context_lengths, "7, 16, 17: the context lengths", 2, 100000));
  show_no_default(add_counts(app, "--class-counts", o.class_counts, "17: numbers of classes", 2, 100));
  show_no_default(add_counts(app, "--prototype-sets", o.prototype_sets,
                             "10: numbers of sets of prototypes that the contexts share", 1, 1000000));
  show_no_default(add_counts(app, "--hidden-ratios", o.hidden_ratios,
                             "10: hidden widths of the perceptron, in units of d + k", 1, 1000));
  head_options(app, "Task");
  add_count<std::int64_t>(app, "--seeds", o.seeds, "Runs of training, with the seeds --seed, --seed + 1, ...", 1, 1000);
  add_count<std::int64_t>(app, "--steps", o.run.steps, "Steps of Adam per run", 1, 100000000);
  add_count<std::int64_t>(app, "--batch", o.run.batch, "Contexts per step, each used once", 1, 1 << 24);
  add_number(app, "--rate", o.run.rate, "Learning rate of Adam, which falls to 0 along half a cosine", positive,
             "0 < value <= 1000");
  show_no_default(add_positive_numbers(app, "--rates", o.rates, "17, 18: learning rates of Adam"));
  show_no_default(add_count<std::int64_t>(app, "--decay-steps", o.run.decay_steps,
                                          "Step at which the rate reaches 0; default: the last. With it --resume of "
                                          "--figure curves goes on to more --steps",
                                          1, 100000000));
  add_number(app, "--initial-scale", o.run.initial_scale,
             "Standard deviation of the initial weights, in units of 1/sqrt(d + k); the paper has 0.002", positive,
             "0 < value <= 1000");
  show_no_default(add_positive_numbers(app, "--initial-scales", o.initial_scales,
                                       "17: standard deviations of the initial weights"));
  add_choice<ContextWeights>(app, "--weights-trained", o.run.weights,
                             "The four matrices, their two products, or the output alone at width 1",
                             {{"factored", ContextWeights::factored},
                              {"merged", ContextWeights::merged},
                              {"fixed-width", ContextWeights::fixed_width}});
  show_no_default(add_written(app, "--weights", o.weights,
                              "curves: write the products of weights to FILE.key_query.npy and FILE.output.npy", "FILE",
                              [](const std::string& file) {
                                return Names{key_query_file(file), output_file(file)};
                              }));
  head_options(app, "Training");
  add_trial_options(app, o.simulation);
  add_record_options(app, o.simulation, false);
  add_run_output_options(app, o.output);
}

namespace {

/// The options that figures other than ends and curves have, and these two have not.
const Names list_names{"--dimensions", "--context-lengths", "--class-counts", "--initial-scales", "--rates",
                       "--full",       "--prototype-sets",  "--hidden-ratios"};

bool is_of_paper(ClassificationFigure figure) {
  return figure != ClassificationFigure::ends && figure != ClassificationFigure::curves;
}

void require_balanced(const std::string& name, std::int64_t context_length, std::int64_t classes) {
  if (context_length % classes == 0) return;
  throw_input_error(name, "is no multiple of the classes", std::to_string(context_length),
                    "a multiple of " + std::to_string(classes));
}

/// The options that one figure of the paper does not use and others do.
Names unused_of(ClassificationFigure figure) {
  switch (figure) {
    case ClassificationFigure::strategies:
      return {"--classes", "--context-length", "--rate", "--initial-scale"};
    case ClassificationFigure::learning_rates:
      return {"--context-lengths", "--class-counts", "--initial-scales", "--rate"};
    case ClassificationFigure::valley:
      return {"--context-lengths", "--class-counts", "--rates", "--initial-scales"};
    case ClassificationFigure::transience:
      return {"--context-lengths", "--class-counts",  "--rates",
              "--initial-scales",  "--initial-scale", "--weights-trained"};
    default:
      return {"--context-length", "--weights-trained", "--class-counts", "--rates", "--initial-scales"};
  }
}

/// The values of the quick or the full run, where none is given.
void complete_figure(const CLI::App& app, ClassificationOptions& o) {
  const auto usual = [&](const std::string& name, auto& value, auto quick, auto full) {
    if (!is_given(app, name)) value = o.full ? full : quick;
  };
  using Counts = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  if (o.figure == ClassificationFigure::transience) {
    usual("--seeds", o.seeds, 5, 5);
    usual("--steps", o.run.steps, 2500, 12000);
    usual("--batch", o.run.batch, 32, 32);
    usual("--rate", o.run.rate, 0.01, 0.01);
    usual("--classes", o.classes, 3, 3);
    usual("--context-length", o.context_length, 12, 12);
    usual("--trials", o.simulation.trials, 1024, 4096);
    or_usual(o.dimensions, {3});
    or_usual(o.prototype_sets, o.full ? Counts{2, 8, 32, 128} : Counts{8});
    or_usual(o.hidden_ratios, o.full ? Counts{2, 8} : Counts{8});
    return;
  }
  const bool counts = o.figure == ClassificationFigure::strategies;
  usual("--seeds", o.seeds, counts ? 8 : 2, counts ? 20 : 5);
  usual("--steps", o.run.steps, 1000, counts ? 1500 : 2500);
  usual("--batch", o.run.batch, counts ? 64 : 256, 256);
  const bool is_valley = o.figure == ClassificationFigure::valley,
             by_dimension = o.figure == ClassificationFigure::widths;
  or_usual(o.dimensions, is_valley      ? (o.full ? Counts{5, 10} : Counts{5})
                         : by_dimension ? (o.full ? Counts{2, 3, 5, 10} : Counts{2, 3})
                         : o.figure == ClassificationFigure::learning_rates && o.full ? Counts{3, 10}
                                                                                      : Counts{3});
  const Counts lengths = o.figure == ClassificationFigure::models
                             ? (o.full ? Counts{25, 50, 100, 200, 400, 1000} : Counts{25})
                         : by_dimension && !o.full ? Counts{25}
                                                   : Counts{100};
  or_usual(o.context_lengths, lengths);
  or_usual(o.class_counts, {5});
  or_usual(o.initial_scales, o.full ? Numbers{0.002, 0.1, 0.5} : Numbers{0.002, 0.5});
  if (o.figure == ClassificationFigure::learning_rates) {
    or_usual(o.rates, o.full ? Numbers{0.001, 0.003, 0.01, 0.03, 0.1} : Numbers{0.003, 0.03});
  } else {
    or_usual(o.rates, o.full ? Numbers{0.005, 0.02} : Numbers{0.02});
  }
}

}  // namespace

void complete(const CLI::App& app, ClassificationOptions& o, UnusedOptions& unused) {
  const std::string figure = "--figure " + text_of(app, "--figure");
  const bool is_course = o.figure == ClassificationFigure::curves;
  unused.add(figure, is_course ? Names{"--seeds"} : Names{"--weights"});
  if (is_given(app, "--decay-steps") && o.run.decay_steps < o.run.steps) {
    throw_input_error("--decay-steps", "the rate is 0 from there on, so that training cannot go on", o.run.decay_steps,
                      "at least the " + std::to_string(o.run.steps) + " of --steps");
  }
  if (is_course && is_given(app, "--decay-steps")) o.simulation.record.may_grow = "steps";
  if (o.figure == ClassificationFigure::curves && o.maps == MapChoice::both) o.maps = MapChoice::softmax;
  if (!is_of_paper(o.figure)) {
    unused.add(figure, list_names);
    require_balanced("--context-length", o.context_length, o.classes);
    return;
  }
  unused.add(figure, {"--map", "--dimension", "--decay-steps"});
  unused.add(figure, unused_of(o.figure));
  if (o.figure != ClassificationFigure::transience) unused.add(figure, {"--prototype-sets", "--hidden-ratios"});
  complete_figure(app, o);
  if (o.figure != ClassificationFigure::strategies) o.class_counts = {o.classes};
  const bool has_lengths = o.figure == ClassificationFigure::models || o.figure == ClassificationFigure::widths ||
                           o.figure == ClassificationFigure::strategies;
  if (!has_lengths) o.context_lengths = {o.context_length};
  for (const std::int64_t n : o.context_lengths) {
    for (const std::int64_t k : o.class_counts) {
      require_balanced(has_lengths ? "--context-lengths" : "--context-length", n, k);
    }
  }
}

void state_used(const ClassificationOptions& o, nlohmann::ordered_json& arguments) {
  if (!is_of_paper(o.figure)) return;
  const Names unused = unused_of(o.figure);
  const auto state = [&](const std::string& name, const auto& value) {
    if (std::find(unused.begin(), unused.end(), "--" + name) == unused.end()) arguments[name] = value;
  };
  state("dimensions", o.dimensions);
  state("context-lengths", o.context_lengths);
  state("class-counts", o.class_counts);
  state("initial-scales", o.initial_scales);
  state("rates", o.rates);
  state("seeds", o.seeds);
  state("steps", o.run.steps);
  state("batch", o.run.batch);
  state("trials", o.simulation.trials);
  if (o.figure != ClassificationFigure::transience) return;
  state("prototype-sets", o.prototype_sets);
  state("hidden-ratios", o.hidden_ratios);
  state("classes", o.classes);
  state("context-length", o.context_length);
  state("rate", o.run.rate);
}

}  // namespace incontext::examples::train
