#include "examples/softmax_error/options.hpp"

#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_algebra.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <nlohmann/json.hpp>

namespace incontext::examples::softmax_error {

namespace {

void add_law_options(CLI::App& app, SoftmaxErrorOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  add_regression_law_options(app, o.law);
  add_choice<AttentionChoice>(app, "--attention", o.attention,
                              "The attention pretrained on the law before its shifts, or scores m x_j . x_q and values "
                              "v y_j",
                              {{"pretrained", AttentionChoice::pretrained}, {"scaled", AttentionChoice::scaled}});
  add_number(app, "--key-query-scale", o.key_query_scale, "scaled: m of the scores m x_j . x_q", positive, "0 < value");
  add_number(app, "--label-value", o.label_value, "scaled: v of the values v y_j", positive, "0 < value");
  add_choice<regression::QueryToken>(
      app, "--query", o.query, "Whether the query attends to itself too",
      {{"excluded", regression::QueryToken::excluded}, {"included", regression::QueryToken::included}});
}

bool is_isotropic(const RegressionLawOptions& o) {
  return o.input_covariance.empty() && o.task_covariance.empty() && o.test_input_covariance.empty() &&
         o.test_task_covariance.empty() && o.task_mean.empty() && o.test_task_mean.empty() && o.mean_shift == 0;
}

}  // namespace

bool SoftmaxErrorOptions::has_files() const {
  return !law.input_covariance.empty() || !law.task_covariance.empty() || !law.test_input_covariance.empty() ||
         !law.test_task_covariance.empty();
}

Situation SoftmaxErrorOptions::situation(std::int64_t dimension, std::int64_t context_length) const {
  const auto training = training_task(law, dimension, !has_files() || dimension_given);
  const auto d = training.dimension();
  regression::Attention<double> used{key_query_scale * regression::Matrix<double>::Identity(d, d),
                                     regression::Vector<double>::Zero(d), label_value};
  if (attention == AttentionChoice::pretrained) used = regression::pretrained_attention(training, context_length);
  const auto test = shifted(training, law);
  Situation at{.attention = used, .task = test, .context_length = context_length, .query = query};
  if (is_isotropic(law)) {
    at.isotropic =
        IsotropicFamily{{used.key_query(0, 0), used.label_value},
                        {d, test.input_covariance()(0, 0), test.task_covariance()(0, 0), test.noise_variance()}};
  }
  return at;
}

void add_softmax_error_options(CLI::App& app, SoftmaxErrorOptions& o) {
  add_choice<Vary>(app, "--vary", o.vary, "What changes from row to row",
                   {{"temperature", Vary::temperature},
                    {"context-length", Vary::context_length},
                    {"dimension", Vary::dimension},
                    {"map", Vary::map},
                    {"heads", Vary::heads}});
  add_positive_numbers(app, "--temperatures", o.temperatures,
                       "Temperatures to show beside the optimal ones of true and of approximate softmax");
  add_counts(app, "--context-lengths", o.context_lengths, "With --vary context-length: its values", 2, 100000000);
  add_counts(app, "--dimensions", o.dimensions, "With --vary dimension: its values", 1, 10000);
  add_positive_numbers(app, "--scales", o.scales, "With --vary map: scales s of SSMax beside the optimal one");
  add_positive_numbers(app, "--exponents", o.exponents,
                       "With --vary map: exponents of SSA, each at base 1 and at its optimal base");
  add_counts(app, "--heads", o.heads,
             "With --vary heads: numbers of softmax heads, each with its best scales and values", 1, 4);
  head_options(app, "Tables");
  add_law_options(app, o);
  head_options(app, "Attention and law");
  show_no_default(
      add_choice<EstimatorChoice>(app, "--estimator", o.estimator,
                                  "What a trial draws: the scores, or all there is; all if inputs have a mean, values "
                                  "are read from inputs, or the query attends to itself",
                                  {{"reduced", EstimatorChoice::reduced}, {"literal", EstimatorChoice::literal}}));
  add_simulation_options(app, o.simulation);
  add_no_simulation_option(app, o.simulation);
  add_run_output_options(app, o.output);
}

namespace {

/// What only the pretrained attention reads, or a shift has replaced.
std::vector<std::string> unread_by_scaled(const SoftmaxErrorOptions& o) {
  std::vector<std::string> names;
  if (o.law.has_test_noise) names.push_back("--noise-variance");
  if (!o.law.test_input_covariance.empty()) names.push_back("--input-variance");
  if (!o.law.test_task_covariance.empty()) names.push_back("--task-variance");
  if (!o.law.test_task_mean.empty()) names.push_back("--task-mean");
  return names;
}

}  // namespace

UnusedOptions complete(const CLI::App& app, SoftmaxErrorOptions& o) {
  o.dimension_given = is_given(app, "--dimension");
  complete_regression_law(app, o.law);
  const std::string mode = "--vary " + text_of(app, "--vary");
  UnusedOptions unused(app);
  if (o.vary != Vary::context_length) unused.add(mode, {"--context-lengths"});
  if (o.vary != Vary::dimension) unused.add(mode, {"--dimensions"});
  if (o.vary != Vary::map) unused.add(mode, {"--scales", "--exponents"});
  if (o.vary != Vary::heads) unused.add(mode, {"--heads"});
  if (o.vary == Vary::heads) unused.add(mode, {"--temperatures", "--estimator"});
  if (o.vary == Vary::context_length) unused.add(mode, {"--context-length"});
  if (o.vary == Vary::dimension) unused.add(mode, {"--dimension"});
  if (o.attention == AttentionChoice::pretrained)
    unused.add("--attention pretrained", {"--key-query-scale", "--label-value"});
  if (o.attention == AttentionChoice::scaled) unused.add("--attention scaled", unread_by_scaled(o));
  add_unused_variances(unused, o.law);
  if (o.vary == Vary::dimension && o.has_files()) {
    throw InputError("--vary dimension: does not go with covariances from files, which have one dimension");
  }
  add_unused_run_options(unused, o.simulation, o.output);
  const bool reads_inputs = o.attention == AttentionChoice::pretrained && !o.law.task_mean.empty();
  const bool included = o.query == regression::QueryToken::included;
  if (o.law.mean_shift != 0 || reads_inputs || included) {
    const std::string why = included ? "--query included" : reads_inputs ? "--task-mean" : "--mean-shift";
    if (is_given(app, "--estimator") && o.estimator == EstimatorChoice::reduced) {
      throw_input_error("--estimator", "does not support " + why, "reduced", "literal");
    }
    if (o.vary == Vary::map || o.vary == Vary::heads) {
      throw_input_error("--vary", "does not support " + why, text_of(app, "--vary"), "another quantity");
    }
    o.estimator = EstimatorChoice::literal;
  }
  if (o.vary == Vary::map && o.estimator == EstimatorChoice::literal) {
    throw_input_error("--estimator", "does not support every map of --vary map", "literal", "reduced");
  }
  for (const double exponent : o.exponents) {
    if (exponent < 1) throw_input_error("--exponents", "is too small", exponent, "at least 1");
  }
  or_usual(o.temperatures,
           o.vary == Vary::temperature ? std::vector<double>{0.5, 0.7, 1, 1.4, 2, 3, 5} : std::vector<double>{1});
  return unused;
}

void state_used(const SoftmaxErrorOptions& o, nlohmann::ordered_json& arguments) {
  if (o.vary != Vary::heads) arguments["temperatures"] = o.temperatures;
  if (o.vary == Vary::context_length) arguments["context-lengths"] = o.context_lengths;
  if (o.vary == Vary::dimension) arguments["dimensions"] = o.dimensions;
  if (o.vary != Vary::dimension && o.law.task_covariance.empty()) {
    arguments["task-variance"] =
        o.law.has_task_variance ? o.law.task_variance : 1 / static_cast<double>(o.simulation.dimension);
  }
  if (o.vary == Vary::heads) {
    arguments["heads"] = o.heads;
    return;
  }
  arguments["estimator"] = o.estimator == EstimatorChoice::reduced ? "reduced" : "literal";
  if (o.vary != Vary::map) return;
  arguments["scales"] = o.scales;
  arguments["exponents"] = o.exponents;
}

}  // namespace incontext::examples::softmax_error
