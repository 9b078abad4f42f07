#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "incontext/sampled_training/context_training.hpp"
#include "incontext/sampled_training/regression_training.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/simulate/baselines/baseline_errors.hpp"
#include "incontext/simulate/classification/adaptive_onset.hpp"
#include "incontext/simulate/classification/classification_contrasts.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/context_attention.hpp"
#include "incontext/simulate/classification/partition_function.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/gradients/gradient_norms.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/regression/regression_error_on_rows.hpp"
#include "incontext/simulate/regression/ridge_risk.hpp"
#include "incontext/simulate/rows/score_rows.hpp"
#include "incontext/simulate/rows/task_streams.hpp"
#include "regression/models.hpp"

/// Every kind of trial, printed with all bits of its numbers, which must be the same for every device, thread count,
/// compiler and instruction set.
namespace incontext::testing {

inline void append_bits(std::vector<std::string>& lines, const char* name, const simulate::Simulation& simulation) {
  for (const auto& estimate : simulation.estimates) {
    char line[160];
    std::snprintf(line, sizeof line, "%s %a %a %lld", name, estimate.mean, estimate.standard_error,
                  static_cast<long long>(estimate.count));
    lines.emplace_back(line);
  }
}

/// Twenty dimensions with full covariances and a full attention matrix, wide enough that the use of vector units in a
/// product would change bits.
inline std::pair<regression::LinearTask<double>, regression::Attention<double>> wide_model() {
  constexpr Eigen::Index d = 20;
  regression::LinearTask<double>::Parameters law;
  law.input_covariance = law.task_covariance = regression::Matrix<double>::Zero(d, d);
  law.input_mean = law.task_mean = regression::Vector<double>::Zero(d);
  for (Eigen::Index i = 0; i < d; ++i) {
    law.input_mean(i) = 0.1 * static_cast<double>(i % 3);
    for (Eigen::Index j = 0; j < d; ++j) {
      law.input_covariance(i, j) = 1.0 / static_cast<double>(1 + (i - j) * (i - j));
      law.task_covariance(i, j) = 0.3 / static_cast<double>(d + d * std::abs(i - j));
    }
  }
  law.noise_variance = 0.1;
  regression::Attention<double> attention{0.7 * law.input_covariance, 0.3 * law.input_mean, 0.9};
  return {regression::LinearTask<double>(law), attention};
}

/// A sample by its moments and median, output by output.
inline void append_bits(std::vector<std::string>& lines, const char* name, const simulate::Sample& sample) {
  for (std::size_t k = 0; k * static_cast<std::size_t>(sample.trials) < sample.values.size(); ++k) {
    const auto moments = statistics::moments_of(sample.sorted(k), sample.trials);
    char line[200];
    std::snprintf(line, sizeof line, "%s %a %a %a %lld", name, moments.mean, moments.sum_of_squares, sample.median(k),
                  static_cast<long long>(moments.count));
    lines.emplace_back(line);
  }
}

/// The sequences of the training tasks, each by a sum of what it draws.
template <class T>
struct TaskStreamTrial {
  using Scalar = T;

  INCONTEXT_HD int outputs() const { return 4; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 1; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<T, W>, simulate::LaneArray<T, W> values) const {
    constexpr int length = 7;
    T inputs[length], labels[length];
    int every[length], some[length];
    for (int lane = 0; lane < W; ++lane) {
      const std::uint64_t index = trials.first + static_cast<std::uint64_t>(lane);
      for (int k = 0; k < 4; ++k) values[k][lane] = T(0);
      simulate::QuantifierSequences<T>{trials.seed, T(1.5)}.draw(index, length, inputs, every, some);
      for (int i = 0; i < length; ++i) values[0][lane] += inputs[i] * static_cast<T>(2 * every[i] + some[i]);
      simulate::AffineSequences<T>{trials.seed, T(1.5), T(0.5), T(3)}.draw(index, length, inputs, labels);
      for (int i = 0; i < length; ++i) values[1][lane] += inputs[i] - labels[i];
      const auto input = simulate::ReasoningInputs{trials.seed, 100}.draw(index);
      values[2][lane] = static_cast<T>(input.a + 2 * input.b - input.c + 3 * input.d + input.answer);
      for (const auto law : {simulate::ScoreLaw::normal, simulate::ScoreLaw::uniform}) {
        const auto place = simulate::NeedleRows<T>{trials.seed, law, T(0.5), T(2), T(4)}.draw(index, length, inputs);
        for (int i = 0; i < length; ++i) values[3][lane] += inputs[i] * static_cast<T>(i + 1);
        values[3][lane] += static_cast<T>(place);
      }
    }
  }
};

/// Losses and gradients of the training contexts. A context has 20 or 21 tokens: the weights of fewer than 16 come from
/// the C library's exponential, which a GPU has another of.
inline void append_training_bits(std::vector<std::string>& lines, simulate::Device device, int threads,
                                 std::int64_t contexts, std::uint64_t seed) {
  const training::ContextBatches batches{.batch = contexts, .seed = 5 + seed, .device = device, .threads = threads};
  const training::RegressionTraining<scoring::Softmax<float>> regression({general_task(), 20}, {1.5f}, batches);
  append_bits(lines, "training-regression-float",
              {.estimates = regression.evaluate(regression.initial(), std::max<std::int64_t>(contexts, 2))});
  const training::ContextTraining<scoring::Softmax<double>> context({.task = {2, 3, 21}}, {0.5}, batches);
  const training::BatchGradient found = context.gradient()(context.initial(0.5), 0);
  for (std::size_t i = 0; i < found.gradient.size(); i += 3) {
    char line[160];
    std::snprintf(line, sizeof line, "training-context-double %a %a %a", found.loss, found.accuracy, found.gradient[i]);
    lines.emplace_back(line);
  }
}

inline std::vector<std::string> bits(simulate::Device device, int threads, std::int64_t trials = 9999,
                                     std::uint64_t seed = 0) {
  using simulate::at_temperatures;
  using simulate::Estimator;
  using Approximate = scoring::ApproximateSoftmax<double>;
  const auto task = general_task();
  const auto attention = general_attention();
  const std::vector<double> temperatures{0.75, 1.5};
  const simulate::Options options{
      .seed = 0x123456789abcdefULL + seed, .trials = trials, .device = device, .threads = threads};
  const auto approximate = at_temperatures<Approximate>(temperatures);
  const regression::ErrorConvention included{.query = regression::QueryToken::included};
  std::vector<std::string> lines;
  append_bits(lines, "approximate-float", simulate::regression_error<float>(attention, task, 11, approximate, options));
  append_bits(lines, "approximate-double",
              simulate::regression_error<double>(attention, task, 11, approximate, options, included));
  append_bits(lines, "linear-float",
              simulate::regression_error<float>(
                  attention, task, 6, at_temperatures<scoring::LinearAttention<double>>(temperatures), options));
  append_bits(lines, "softmax-float",
              simulate::regression_error<float>(attention, task, 9,
                                                at_temperatures<scoring::Softmax<double>>(temperatures), options));
  append_bits(lines, "softmax-double",
              simulate::regression_error<double>(
                  attention, task, 9, at_temperatures<scoring::Softmax<double>>(temperatures), options, included));
  append_bits(lines, "conditional-float",
              simulate::regression_error<float>(attention, task, 11, approximate, options, {}, Estimator::conditional));
  append_bits(lines, "sufficient-double",
              simulate::regression_error<double>(attention, task, 11, approximate, options, {},
                                                 Estimator::sufficient_statistics));
  const regression::Matrix<double> rows{{1.0, 0.5, 0.25}, {-0.25, 2.0, 1.0}, {0.75, -1.0, 0.5}, {3.0, 0.125, -2.0}};
  append_bits(
      lines, "rows-float",
      simulate::regression_error_on_rows<float>(
          attention, rows, {task.task_mean(), regression::Matrix<double>::Zero(3, 3), 0.25}, 7, approximate, options));
  append_bits(lines, "ridge-double", simulate::centered_ridge_risk(task, 5, options));
  append_bits(lines, "ridge-rows-double",
              simulate::centered_ridge_risk_on_rows(rows, task.task_covariance(), 0.25, 6, options));
  append_bits(lines, "posterior-double", simulate::posterior_risk(task, 5, options));
  append_bits(lines, "posterior-rows-double",
              simulate::posterior_risk_on_rows(rows, task.task_covariance(), 0.25, 6, options));
  const auto wide = wide_model();
  append_bits(lines, "wide-double",
              simulate::regression_error<double>(wide.second, wide.first, 30, approximate, options));
  append_bits(lines, "wide-ridge-double", simulate::centered_ridge_risk(wide.first, 30, options));
  const auto centered = task.with_input_mean(regression::Vector<double>::Zero(3));
  regression::Attention<double> labels_alone = attention;
  labels_alone.input_value.setZero();
  append_bits(lines, "reduced-softmax-float",
              simulate::reduced_softmax_error<float>(labels_alone, centered, 21,
                                                     at_temperatures<scoring::Softmax<double>>(temperatures), options));
  append_bits(lines, "reduced-ssa-double",
              simulate::reduced_softmax_error<double>(labels_alone, centered, 21,
                                                      std::vector<scoring::SSA<double>>{{1.0, 1.5}}, options));
  const std::vector<double> inverse_temperatures{0.75, 3.0};
  append_bits(
      lines, "normal-scores-float",
      simulate::score_rows<float>(simulate::normal_scores(37, 1.5).with_needle(2, 0.5), inverse_temperatures, options)
          .run);
  append_bits(lines, "uniform-scores-double",
              simulate::score_rows<double>(simulate::uniform_scores(18, -1, 2), inverse_temperatures, options).run);
  using Rule = simulate::ClassificationRule;
  append_bits(
      lines, "classification-float",
      simulate::classification<float>({5, 6, 24}, {{Rule::kernel, 3, 20}, {Rule::adaptive_with_query, -2, -9}}, options)
          .run);
  append_bits(lines, "classification-grid-double",
              simulate::classification_grid<double>({2, 4, 20}, {Rule::adaptive, {0.5, 30}, {2, 11}}, options).run);
  const std::vector<scoring::SSA<double>> ssa{{1.0, 1.5}, {0.5, 4.0, 2.0}};
  append_bits(lines, "literal-ssa-float", simulate::regression_error<float>(attention, task, 9, ssa, options));
  append_bits(lines, "literal-ssa-double",
              simulate::regression_error<double>(attention, task, 9, ssa, options, included));
  append_bits(lines, "context-attention-float",
              simulate::context_attention<float>(
                  {3, 4, 20}, classification::softmax_construction<double>(3, 4, 5.0, 6.0),
                  simulate::DotActivation<float>{simulate::DotActivation<float>::Kind::softmax, 0.5f},
                  QueryToken::included, options)
                  .run);
  append_bits(
      lines, "context-attention-radial-double",
      simulate::context_attention<double>({2, 3, 12}, classification::rbf_construction<double>(2, 3, 12, 4.0, 30.0),
                                          simulate::RadialActivation<double>{}, QueryToken::excluded, options)
          .run);
  append_bits(
      lines, "classification-contrasts-float",
      simulate::classification_contrasts<float>({3, 4, 20, simulate::ContextLaw::balanced, 7},
                                                {{Rule::linear, 0, 30}, {Rule::adaptive, 5, 6}}, {{1, 0}}, options)
          .run);
  append_bits(lines, "adaptive-onset-float", simulate::adaptive_onset<float>({4, 5, 20}, {10.0, 40.0}, options).run);
  const simulate::RowLabels labels{.labels = regression::Vector<double>{{1.0, -0.5, 0.25, 2.0}}};
  append_bits(lines, "labeled-rows-float",
              simulate::regression_error_on_rows<float>(attention, rows, labels, 7, approximate, options));
  append_bits(lines, "gradient-norms-float", simulate::gradient_norms<float>({12, 5}, {0.5, 4.0}, options).run);
  append_bits(lines, "gradient-norms-normsoftmax-double",
              simulate::gradient_norms<double>({9, 3, simulate::GradientMap::normsoftmax}, {2.0}, options).run);
  append_bits(lines, "partition-function-float", simulate::partition_function<float>({3, 4, 20}, {2, 15}, options).run);
  append_bits(
      lines, "alignment-float",
      simulate::classification_alignment<float>({5, 6, 24}, {{{Rule::kernel, 3, 20}, {Rule::adaptive, 3, 6}}}, options)
          .run);
  simulate::Options searching = options;
  searching.trials = std::max<std::int64_t>(trials, 2);
  const auto found = simulate::classification_search<double>({2, 4, 20}, {Rule::adaptive, {0.5, 30}, {2, 11}},
                                                             searching, {.zooms = 2});
  append_bits(lines, "search-double", {.estimates = {found.loss, found.accuracy}});
  // Rows of several segments, of which the last is not full; few trials, so that a GPU runs the segments side by side.
  simulate::Options few = options;
  few.trials = std::min<std::int64_t>(trials, 33);
  const auto long_row = simulate::normal_scores(5 * 4096 + 37, 1.5).with_needle(2, 0.5);
  append_bits(lines, "long-scores-float", simulate::score_rows<float>(long_row, inverse_temperatures, few).run);
  append_bits(lines, "long-scores-double", simulate::score_rows<double>(long_row, inverse_temperatures, few).run);
  append_bits(
      lines, "scores-sample-float",
      simulate::score_row_sample<float>(simulate::normal_scores(37, 1.5), inverse_temperatures, options).sample);
  append_bits(lines, "long-scores-sample-float",
              simulate::score_row_sample<float>(long_row, inverse_temperatures, few).sample);
  append_bits(lines, "gradient-sample-float",
              simulate::gradient_norms_sample<float>({12, 5}, {0.5, 4.0}, options).sample);
  append_bits(lines, "classification-sample-float",
              simulate::classification_sample<float>({5, 6, 24}, {{Rule::kernel, 3, 20}}, options).sample);
  append_bits(lines, "partition-function-sample-float",
              simulate::partition_function_sample<float>({3, 4, 20}, {2, 15}, options).sample);
  append_bits(
      lines, "classification-independent-double",
      simulate::classification<double>({3, 4, 20, simulate::ContextLaw::independent}, {{Rule::kernel, 3, 20}}, options)
          .run);
  append_training_bits(lines, device, threads, trials, seed);
  append_bits(lines, "task-streams-float", simulate::run(TaskStreamTrial<float>{}, options));
  append_bits(lines, "task-streams-double", simulate::run(TaskStreamTrial<double>{}, options));
  append_bits(lines, "baseline-errors-double",
              simulate::baseline_errors({.dimension = 3,
                                         .examples = 7,
                                         .task = {.noise_variance = 0.3, .task_variance = 0.5},
                                         .descents = {{0.25, 0.75}},
                                         .penalties = {0.6, 0}},
                                        options));
  return lines;
}

}  // namespace incontext::testing
