#include "examples/train/options.hpp"

#include <algorithm>

namespace incontext::examples::train {

void add_train_options(CLI::App& app, TrainOptions& o) {
  const auto positive = [](double value) { return value > 0 && value <= 1e3; };
  add_choice<TrainTask>(app, "--task", o.task, "What is learned",
                        {{"classification", TrainTask::classification},
                         {"regression", TrainTask::regression},
                         {"reasoning", TrainTask::reasoning},
                         {"affine", TrainTask::affine},
                         {"quantifier", TrainTask::quantifier},
                         {"needle", TrainTask::needle}});
  add_choice<TrainFigure>(
      app, "--figure", o.figure, "What to show, see above",
      {{"ends", TrainFigure::ends}, {"curves", TrainFigure::curves}, {"temperature", TrainFigure::temperature}});
  add_choice<MapChoice>(app, "--map", o.maps, "Which attention is trained",
                        {{"linear", MapChoice::linear}, {"softmax", MapChoice::softmax}, {"both", MapChoice::both}});
  show_no_default(add_count<std::int64_t>(app, "--dimension", o.dimension,
                                          "Dimension of the inputs; default: 5 for linear attention, 3 for softmax", 2,
                                          100));
  add_count<std::int64_t>(app, "--classes", o.classes, "Number of classes", 2, 100);
  add_count<std::int64_t>(app, "--context-length", o.context_length, "Points per context, a multiple of the classes", 2,
                          100000);
  head_options(app, "Task");
  add_count<std::int64_t>(app, "--seeds", o.seeds, "Runs of training, with the seeds --seed, --seed + 1, ...", 1, 1000);
  add_count<std::int64_t>(app, "--steps", o.run.steps, "Steps of Adam per run", 1, 100000000);
  add_count<std::int64_t>(app, "--batch", o.run.batch, "Contexts per step, each used once", 1, 1 << 24);
  add_number(app, "--rate", o.run.rate, "Learning rate of Adam, which falls to 0 along half a cosine", positive,
             "0 < value <= 1000");
  show_no_default(add_count<std::int64_t>(app, "--decay-steps", o.run.decay_steps,
                                          "Step at which the rate reaches 0; default: the last", 1, 100000000));
  add_number(app, "--initial-scale", o.run.initial_scale,
             "Standard deviation of the initial weights, in units of 1/sqrt(d + k); the paper has 0.002", positive,
             "0 < value <= 1000");
  add_choice<ContextWeights>(app, "--weights-trained", o.run.weights,
                             "The four matrices, their two products, or the output alone at width 1",
                             {{"factored", ContextWeights::factored},
                              {"merged", ContextWeights::merged},
                              {"fixed-width", ContextWeights::fixed_width}});
  show_no_default(add_text(app, "--checkpoint", o.checkpoint, "curves: write the state of training here", "FILE"));
  show_no_default(add_text(app, "--resume", o.resume, "curves: go on from such a state, to the same bits", "FILE"));
  show_no_default(add_text(app, "--weights", o.weights,
                           "curves: write the products of weights to FILE.key_query.npy and FILE.output.npy", "FILE"));
  head_options(app, "Training");
  add_reasoning_options(app, o.reasoning);
  head_options(app, "Reasoning task");
  add_sequence_options(app, o.sequences);
  head_options(app, "Sequences");
  add_run_options(app, o.simulation);
  add_output_options(app, o.output);
  add_partial_option(app, o.output);
}

namespace {

/// Of the options in `names` those that are not in `used`.
std::vector<std::string> without(std::vector<std::string> names, const std::vector<std::string>& used) {
  std::erase_if(names,
                [&](const std::string& name) { return std::find(used.begin(), used.end(), name) != used.end(); });
  return names;
}

/// The options of the affine, quantifier and needle tasks.
void complete_sequences(const CLI::App& app, TrainOptions& o, UnusedOptions& unused) {
  const std::string task = "--task " + text_of(app, "--task");
  unused.add(task,
             {"--map", "--dimension", "--classes", "--context-length", "--rate", "--initial-scale", "--weights-trained",
              "--checkpoint", "--resume", "--weights", "--trials", "--relative-error", "--decay-steps", "--figure"});
  unused.add(task, without(reasoning_option_names(), {"--full", "--width"}));
  if (o.task == TrainTask::needle) {
    unused.add(task, {"--maps", "--tested", "--width"});
    if (is_given(app, "--seeds")) o.sequences.needle_seeds = o.seeds;
    if (is_given(app, "--steps")) o.sequences.needle_steps = o.run.steps;
    if (is_given(app, "--batch")) o.sequences.needle_batch = o.run.batch;
  }
  if (is_given(app, "--seeds")) o.sequences.seeds = o.seeds;
  if (is_given(app, "--steps")) o.sequences.steps = o.run.steps;
  if (is_given(app, "--batch")) o.sequences.batch = o.run.batch;
  if (is_given(app, "--width")) o.sequences.width = o.reasoning.width;
  o.sequences.full = o.reasoning.full;
  o.sequences.first_seed = o.simulation.seed;
  complete(o.sequences);
}

/// The options of the reasoning figures; seeds, steps and batch have the edition's values where they are not given.
void complete_reasoning(const CLI::App& app, TrainOptions& o, UnusedOptions& unused) {
  unused.add("--task reasoning",
             {"--map", "--dimension", "--classes", "--context-length", "--rate", "--initial-scale", "--weights-trained",
              "--checkpoint", "--resume", "--weights", "--trials", "--relative-error", "--decay-steps"});
  if (is_given(app, "--seeds")) o.reasoning.seeds = o.seeds;
  if (is_given(app, "--steps")) o.reasoning.steps = o.run.steps;
  if (is_given(app, "--batch")) o.reasoning.batch = o.run.batch;
  o.reasoning.first_seed = o.simulation.seed;
  if (o.figure == TrainFigure::curves) unused.add("--figure curves", {"--seeds", "--full"});
  complete(o.reasoning);
}

}  // namespace

UnusedOptions complete(const CLI::App& app, TrainOptions& o) {
  UnusedOptions unused(app);
  if (o.task == TrainTask::affine || o.task == TrainTask::quantifier || o.task == TrainTask::needle) {
    complete_sequences(app, o, unused);
    return unused;
  }
  if (o.task == TrainTask::regression) {
    unused.add("--task regression", sequence_option_names());
    unused.add("--task regression",
               {"--map", "--dimension", "--classes", "--context-length", "--steps", "--rate", "--initial-scale",
                "--weights-trained", "--checkpoint", "--resume", "--weights", "--trials", "--decay-steps"});
    unused.add("--task regression", reasoning_option_names());
    if (!is_given(app, "--seeds")) o.seeds = 16;
    return unused;
  }
  if (o.figure == TrainFigure::temperature) {
    throw_input_error("--figure", "is of --task regression", "temperature", "ends or curves");
  }
  const std::string figure = "--figure " + text_of(app, "--figure");
  if (o.task == TrainTask::reasoning) {
    unused.add("--task reasoning", sequence_option_names());
    complete_reasoning(app, o, unused);
    return unused;
  }
  unused.add("--task classification", reasoning_option_names());
  unused.add("--task classification", sequence_option_names());
  if (o.figure != TrainFigure::curves) unused.add(figure, {"--checkpoint", "--resume", "--weights"});
  if (o.figure == TrainFigure::curves) unused.add(figure, {"--seeds"});
  if (o.figure == TrainFigure::curves && o.maps == MapChoice::both) o.maps = MapChoice::softmax;
  if (o.context_length % o.classes != 0) {
    throw_input_error("--context-length", "is no multiple of the classes", std::to_string(o.context_length),
                      "a multiple of " + std::to_string(o.classes));
  }
  return unused;
}

}  // namespace incontext::examples::train
