#include "examples/classify/options.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "examples/classify/contexts.hpp"

namespace incontext::examples::classify {

namespace {

using Names = std::vector<std::string>;

/// The largest number of classes that a balanced context may have.
constexpr std::int64_t most_classes = 512;

/// A file of contexts, and that of their labels.
Names files_of_contexts(const std::string& file) {
  require_file({"--contexts", file});
  return {file, labels_file(file)};
}

void add_optional(CLI::App& app, const std::string& name, std::optional<double>& target,
                  const std::string& description) {
  const auto read = [&target, name](const std::string& text) { target = parse_number(name, text); };
  add_read(app, name, read, description, "X");
}

/// The options that a figure uses, apart from those that all figures use.
Names own_options(ClassifyFigure figure) {
  switch (figure) {
    case ClassifyFigure::metrics:
      return {"--dimension", "--classes",  "--context-length", "--rule",           "--kappa",        "--gain",
              "--rate",      "--contexts", "--contexts-count", "--prototype-sets", "--search-trials"};
    case ClassifyFigure::laws:
      return {"--dimension", "--classes", "--context-length", "--prototype-sets", "--contexts", "--contexts-count"};
    case ClassifyFigure::linear_alignment:
    case ClassifyFigure::softmax_alignment:
      return {"--dimension", "--classes", "--context-length", "--prototype-sets", "--search-trials"};
    case ClassifyFigure::boundaries:
      return {"--classes", "--context-length", "--context", "--search-trials"};
    case ClassifyFigure::lengths:
      return {"--dimensions", "--classes", "--context-lengths", "--search-trials"};
    case ClassifyFigure::variation:
      return {"--dimensions", "--classes", "--context-length", "--search-trials"};
    case ClassifyFigure::neighborhoods:
      return {"--classes", "--context-length", "--kappa", "--crowding", "--near-cosine", "--search-trials"};
    case ClassifyFigure::optima:
      return {"--dimension", "--dimensions", "--context-length", "--context-lengths",
              "--classes",   "--rule",       "--search-trials"};
    case ClassifyFigure::map:
      return {"--dimension", "--classes",        "--context-length", "--rule",
              "--contexts",  "--contexts-count", "--search-trials"};
    case ClassifyFigure::trend:
      return {"--dimensions", "--context-length", "--class-counts", "--kappa", "--search-trials"};
    case ClassifyFigure::elimination:
    case ClassifyFigure::onset:
      break;
  }
  return {"--dimensions", "--classes", "--context-length", "--search-trials"};
}

UnusedOptions unused_options(const CLI::App& app, const ClassifyOptions& o) {
  const Names own = own_options(o.figure);
  const std::string mode = "--figure " + text_of(app, "--figure");
  UnusedOptions unused(app);
  for (const char* name : {"--dimension", "--dimensions", "--classes", "--class-counts", "--context-length",
                           "--context-lengths", "--rule", "--kappa", "--gain", "--rate", "--crowding", "--near-cosine",
                           "--contexts", "--contexts-count", "--prototype-sets", "--context", "--search-trials"}) {
    if (std::find(own.begin(), own.end(), name) == own.end()) unused.add(mode, {name});
  }
  if (o.figure == ClassifyFigure::optima) {
    const bool by_length = !o.context_lengths.empty();
    unused.add(by_length ? "--context-lengths" : mode + " without --context-lengths",
               by_length ? Names{"--dimensions", "--context-length"} : Names{"--dimension"});
  }
  if (o.figure == ClassifyFigure::neighborhoods && o.kappa) unused.add("--kappa", {"--search-trials"});
  if (o.contexts_file.empty()) unused.add("no --contexts", {"--contexts-count"});
  if (o.figure == ClassifyFigure::optima || o.figure == ClassifyFigure::onset ||
      o.figure == ClassifyFigure::elimination) {
    unused.add(mode + ", whose simulations depend on each other's results", {"--part"});
  }
  add_unused_run_options(unused, o.simulation, o.output);
  return unused;
}

void require_balanced(const std::string& name, std::int64_t context_length, std::int64_t classes) {
  const std::int64_t below = context_length - context_length % classes;
  const std::string needs = (below > 0 ? std::to_string(below) + " or " : "") + std::to_string(below + classes) +
                            ", a multiple of the " + std::to_string(classes) + " classes";
  if (context_length < classes) throw_input_error(name, "is smaller than the number of classes", context_length, needs);
  if (context_length % classes != 0) throw_input_error(name, "is not balanced", context_length, needs);
}

/// Refuses a gain or learning rate, given by `option`, that the rule cannot use.
void check_gain(const ClassifyOptions& o, const std::string& option) {
  if (option == "--rate" && *o.gain < 0) throw_input_error(option, "is negative", *o.gain, "0 <= value");
  const bool searches_kappa = !o.kappa && (o.rule == RuleChoice::kernel || o.rule == RuleChoice::adaptive ||
                                           o.rule == RuleChoice::adaptive_with_query);
  if (searches_kappa && *o.gain == 0) {
    throw_input_error(option, "is 0: every kappa errs alike", *o.gain, "--kappa, or another value");
  }
}

/// Refuses parameters that the chosen rule cannot use, and marks those that no rule of the run would read.
void check_setting(const CLI::App& app, const ClassifyOptions& o, UnusedOptions& unused) {
  if (o.figure == ClassifyFigure::map || o.figure == ClassifyFigure::optima) {
    if (o.rule == RuleChoice::linear || o.rule == RuleChoice::fixed_width) {
      throw_input_error("--rule", "has one kappa only", text_of(app, "--rule"), "kernel, softmax or softmax-no-key");
    }
  }
  if (o.figure != ClassifyFigure::metrics) return;
  if (o.rule == RuleChoice::all) {
    unused.add("all rules: name one by --rule", {"--kappa", "--gain", "--rate"});
    return;
  }
  const std::string mode = "--rule " + text_of(app, "--rule");
  const bool has_rate = o.rule == RuleChoice::linear || o.rule == RuleChoice::kernel;
  const bool has_width = o.rule != RuleChoice::linear && o.rule != RuleChoice::fixed_width;
  unused.add(mode, {has_rate ? "--gain" : "--rate"});
  if (!has_width) unused.add(mode, {"--kappa"});
  if (o.gain && (o.kappa || !has_width)) unused.add("every parameter given", {"--search-trials"});
  if (o.rule == RuleChoice::kernel && o.kappa && *o.kappa < 0) {
    throw_input_error("--kappa", "is negative: no kernel", *o.kappa, "0 <= value");
  }
  if (o.kappa && !(std::abs(*o.kappa) <= 1e8)) {
    throw_input_error("--kappa", "is too large", *o.kappa, "-1e8 <= value <= 1e8");
  }
  if (o.gain) check_gain(o, has_rate ? "--rate" : "--gain");
}

}  // namespace

void add_classify_options(CLI::App& app, ClassifyOptions& o) {
  add_choice<ClassifyFigure>(app, "--figure", o.figure, "What to show, see above",
                             {{"rules", ClassifyFigure::metrics},
                              {"laws", ClassifyFigure::laws},
                              {"4", ClassifyFigure::linear_alignment},
                              {"5", ClassifyFigure::softmax_alignment},
                              {"6", ClassifyFigure::boundaries},
                              {"7", ClassifyFigure::lengths},
                              {"8a", ClassifyFigure::variation},
                              {"8b", ClassifyFigure::neighborhoods},
                              {"16", ClassifyFigure::optima},
                              {"valley", ClassifyFigure::map},
                              {"rates", ClassifyFigure::trend},
                              {"elimination", ClassifyFigure::elimination},
                              {"onset", ClassifyFigure::onset}});
  add_choice<RuleChoice>(app, "--rule", o.rule, "rules, 16, valley: the rule; no-key: the query is no key",
                         {{"all", RuleChoice::all},
                          {"linear", RuleChoice::linear},
                          {"kernel", RuleChoice::kernel},
                          {"fixed-width", RuleChoice::fixed_width},
                          {"softmax-no-key", RuleChoice::adaptive},
                          {"softmax", RuleChoice::adaptive_with_query}});
  add_optional(app, "--kappa", o.kappa, "Concentration 1/sigma^2 of the kernel; searched for if absent");
  add_optional(app, "--gain", o.gain, "Gain c of attention; searched for if absent");
  const auto read_rate = [&o](const std::string& text) { o.gain = parse_number("--rate", text); };
  add_read(app, "--rate", read_rate, "Learning rate of linear and kernel; searched for if absent", "X");
  add_counts(app, "--dimensions", o.dimensions, "7, 8a, 16, rates, elimination, onset: the dimensions", 2, 1000);
  add_counts(app, "--context-lengths", o.context_lengths, "7: context lengths; 16: in place of dimensions", 2, 1000000);
  add_counts(app, "--class-counts", o.class_counts, "rates: numbers of classes", 2, most_classes);
  add_number(
      app, "--crowding", o.crowding, "8b: least length of a context's mean point",
      [](double value) { return value >= 0 && value < 1; }, "0 <= value < 1");
  add_number(
      app, "--near-cosine", o.near_cosine, "8b: points of a larger cosine with a query are near it",
      [](double value) { return value > -1 && value < 1; }, "-1 < value < 1");
  add_count<std::int64_t>(app, "--context", o.context, "6: which context, by its number", 0, 1000000000);
  head_options(app, "Figures");
  add_count<std::int64_t>(app, "--dimension", o.simulation.dimension, "Input dimension d", 2, 1000);
  add_count<std::int64_t>(app, "--classes", o.classes, "Classes k", 2, most_classes);
  add_count<std::int64_t>(app, "--context-length", o.simulation.context_length, "Examples in a context n", 2, 1000000);
  add_count<std::int64_t>(app, "--prototype-sets", o.prototype_sets,
                          "Sets of prototypes that all contexts share; 0: every context has its own", 0, 1000000000);
  head_options(app, "Task");
  add_count<std::int64_t>(app, "--search-trials", o.search_trials, "Contexts on which optima are searched for", 2,
                          100000000);
  add_run_options(app, o.simulation);
  add_written(app, "--contexts", o.contexts_file, "Write contexts to this .npy file, their labels to FILE-labels.npy",
              "FILE", files_of_contexts);
  add_count<std::int64_t>(app, "--contexts-count", o.contexts, "How many contexts to write", 1, 1000000);
  head_options(app, "Data");
  add_run_output_options(app, o.output);
}

UnusedOptions complete(const CLI::App& app, ClassifyOptions& o) {
  UnusedOptions unused = unused_options(app, o);
  check_setting(app, o, unused);
  const bool is_small = o.figure == ClassifyFigure::trend || o.figure == ClassifyFigure::elimination;
  if (o.figure == ClassifyFigure::lengths) {
    or_usual(o.dimensions, {2, 3, 5});
    or_usual(o.context_lengths, {20, 100, 400});
  } else if (o.figure == ClassifyFigure::onset) {
    or_usual(o.dimensions, {4, 6, 10});
  } else {
    or_usual(o.dimensions, is_small ? std::vector<std::int64_t>{2, 5, 10} : std::vector<std::int64_t>{2, 3, 5, 10});
  }
  or_usual(o.class_counts, {2, 5, 10});
  if (o.figure == ClassifyFigure::neighborhoods || o.figure == ClassifyFigure::boundaries) o.simulation.dimension = 2;
  if (o.figure == ClassifyFigure::trend) {
    for (const std::int64_t k : o.class_counts) require_balanced("--context-length", o.simulation.context_length, k);
  } else if (!o.context_lengths.empty()) {
    for (const std::int64_t n : o.context_lengths) require_balanced("--context-lengths", n, o.classes);
  } else {
    require_balanced("--context-length", o.simulation.context_length, o.classes);
  }
  if (o.figure == ClassifyFigure::neighborhoods && o.kappa && *o.kappa <= 0) {
    throw_input_error("--kappa", "is not positive", *o.kappa, "0 < value");
  }
  if (o.figure == ClassifyFigure::trend && o.kappa && *o.kappa <= 0) {
    throw_input_error("--kappa", "is not positive", *o.kappa, "0 < value");
  }
  return unused;
}

void state_used(const ClassifyOptions& o, nlohmann::ordered_json& arguments) {
  const Names own = own_options(o.figure);
  const auto has = [&own](const std::string& name) { return std::find(own.begin(), own.end(), name) != own.end(); };
  const bool by_length = !o.context_lengths.empty() && o.figure != ClassifyFigure::lengths;
  if (has("--dimensions") && !by_length) arguments["dimensions"] = o.dimensions;
  if (o.figure == ClassifyFigure::lengths) arguments["context-lengths"] = o.context_lengths;
  if (has("--class-counts")) arguments["class-counts"] = o.class_counts;
  if (o.figure == ClassifyFigure::trend) arguments["kappa"] = o.kappa.value_or(trend_kappa);
  const bool one_rule = o.figure == ClassifyFigure::map || o.figure == ClassifyFigure::optima;
  if (one_rule && o.rule == RuleChoice::all) arguments["rule"] = "softmax";
}

}  // namespace incontext::examples::classify
