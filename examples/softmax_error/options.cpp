#include "examples/softmax_error/options.hpp"

#include <nlohmann/json.hpp>

namespace incontext::examples::softmax_error {

namespace {

void add_law_options(CLI::App& app, SoftmaxErrorOptions& o) {
  const auto non_negative = [](double value) { return value >= 0; };
  const auto positive = [](double value) { return value > 0; };
  add_number(app, "--input-variance", o.input_variance, "Variance a of the inputs N(0, a I)", positive, "0 < value");
  show_no_default(add_number(app, "--task-variance", o.task_variance,
                             "Variance b of the tasks N(0, b I); one over the dimension if absent", positive,
                             "0 < value"));
  add_number(app, "--noise-variance", o.noise_variance, "Label noise", non_negative, "0 <= value");
  add_number(app, "--key-query-scale", o.key_query_scale, "Scale m of the scores m x_j . x_q", positive, "0 < value");
  add_number(app, "--label-value", o.label_value, "What attention multiplies labels with, v", positive, "0 < value");
}

}  // namespace

Situation SoftmaxErrorOptions::situation(std::int64_t dimension, std::int64_t context_length) const {
  const double task = has_task_variance ? task_variance : 1 / static_cast<double>(dimension);
  return {{key_query_scale, label_value}, {dimension, input_variance, task, noise_variance}, context_length};
}

void add_softmax_error_options(CLI::App& app, SoftmaxErrorOptions& o) {
  add_choice<Vary>(app, "--vary", o.vary, "What changes from row to row",
                   {{"temperature", Vary::temperature},
                    {"context-length", Vary::context_length},
                    {"dimension", Vary::dimension},
                    {"map", Vary::map}});
  add_positive_numbers(app, "--temperatures", o.temperatures,
                       "Temperatures to show beside the optimal ones of true and of approximate softmax");
  add_counts(app, "--context-lengths", o.context_lengths, "With --vary context-length: its values", 2, 100000000);
  add_counts(app, "--dimensions", o.dimensions, "With --vary dimension: its values", 1, 10000);
  add_positive_numbers(app, "--scales", o.scales, "With --vary map: scales s of SSMax beside the optimal one");
  add_positive_numbers(app, "--exponents", o.exponents,
                       "With --vary map: exponents of SSA, each at base 1 and at its optimal base");
  head_options(app, "Tables");
  add_law_options(app, o);
  head_options(app, "Attention and law");
  add_choice<EstimatorChoice>(app, "--estimator", o.estimator, "What a trial draws: the scores, or all there is",
                              {{"reduced", EstimatorChoice::reduced}, {"literal", EstimatorChoice::literal}});
  add_simulation_options(app, o.simulation);
  add_output_options(app, o.output);
  add_partial_option(app, o.output);
}

UnusedOptions complete(const CLI::App& app, SoftmaxErrorOptions& o) {
  o.has_task_variance = is_given(app, "--task-variance");
  const std::string mode = "--vary " + text_of(app, "--vary");
  UnusedOptions unused(app);
  if (o.vary != Vary::context_length) unused.add(mode, {"--context-lengths"});
  if (o.vary != Vary::dimension) unused.add(mode, {"--dimensions"});
  if (o.vary != Vary::map) unused.add(mode, {"--scales", "--exponents"});
  if (o.vary == Vary::context_length) unused.add(mode, {"--context-length"});
  if (o.vary == Vary::dimension) unused.add(mode, {"--dimension"});
  add_unused_run_options(unused, o.simulation, o.output);
  if (o.vary == Vary::map && o.estimator == EstimatorChoice::literal) {
    throw_input_error("--estimator", "does not support every map of --vary map", "literal", "reduced");
  }
  for (const double exponent : o.exponents) {
    if (exponent < 1) throw_input_error("--exponents", "is too small", exponent, "at least 1");
  }
  or_usual(o.temperatures,
           o.vary == Vary::temperature ? std::vector<double>{0.5, 0.7, 1, 1.4, 2, 3, 5} : std::vector<double>{1});
  or_usual(o.context_lengths, {10, 20, 50, 100, 200});
  or_usual(o.dimensions, {1, 2, 4, 8, 16});
  or_usual(o.scales, {0.43});
  or_usual(o.exponents, {1.5, 3});
  return unused;
}

void state_used(const SoftmaxErrorOptions& o, nlohmann::ordered_json& arguments) {
  arguments["temperatures"] = o.temperatures;
  if (o.vary == Vary::context_length) arguments["context-lengths"] = o.context_lengths;
  if (o.vary == Vary::dimension) arguments["dimensions"] = o.dimensions;
  if (o.vary != Vary::dimension) arguments["task-variance"] = o.situation(o.simulation.dimension, 2).task.task_variance;
  if (o.vary != Vary::map) return;
  arguments["scales"] = o.scales;
  arguments["exponents"] = o.exponents;
}

}  // namespace incontext::examples::softmax_error
