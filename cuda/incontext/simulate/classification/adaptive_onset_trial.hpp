#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/classification/voted_prediction.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// Each trial computes the loss of the linear rule at several learning rates, and its derivatives by the logarithm of
/// the rate and by the kappa of the adaptive rule at kappa = 0.
///
/// \f[ z_c = \frac\eta n \sum_{j \in c} (s_j - \bar s),\qquad
///     \frac{dL}{d\kappa} = \frac\eta2 \sum_c (p_c - y_c) \frac1n \sum_{j \in c} (s_j - \bar s)^2 \f]
///
/// Source    derived: docs/theory/classification.md#onset.
/// Shapes    3 values per rate, in the order of AdaptiveOnsetMetric.
/// Units     nats.
/// Domain    as SphereTaskDraw.
/// Accuracy  trial by trial against differences of classification::adaptive_descent:
///           tests/simulate/classification/adaptive_onset.cpp.
/// Runs on   host and device
template <class T>
struct AdaptiveOnsetTrial {
  using Scalar = T;
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const T* rates;
  int size;
  T tilt = T(0);  ///< times the slope by the rate is taken off the slope by kappa

  INCONTEXT_HD int outputs() const { return size * detail::adaptive_onset_metrics; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return task.rows() + task.context_length + 4 * std::int64_t{task.classes};
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    using Metric = AdaptiveOnsetMetric;
    const int k = task.classes;
    const auto context = scratch.take(task.rows()), scores = scratch.take(task.context_length), votes = scratch.take(k),
               squares = scratch.take(k), logits = scratch.take(k), probabilities = scratch.take(k);
    task.draw(trials, context);
    sum_by_class(context, scores, votes, squares);
    const Lanes<T, W>& label = task.query_label(context);
    for (int i = 0; i < size && !stop_requested_at(i); ++i) {
      const auto outcome = detail::VotedPrediction<T>{task}.predict(votes, rates[i], label, logits, probabilities);
      const auto less_label = [&](LaneArray<T, W> numbers) {
        Lanes<T, W> mean = dot(probabilities, numbers, k);
        for (int lane = 0; lane < W; ++lane) mean[lane] -= numbers[static_cast<int>(label[lane])][lane];
        return mean;
      };
      const auto own = values.after(i * detail::adaptive_onset_metrics);
      own[Metric::loss] =
          outcome.log_sum - Lanes<T, W>::each([&](int lane) { return logits[static_cast<int>(label[lane])][lane]; });
      own[Metric::rate_slope] = rates[i] * less_label(votes);
      own[Metric::kappa_slope] = T(0.5) * rates[i] * less_label(squares) - tilt * own[Metric::rate_slope];
    }
  }

 private:
  /// Sums of s - mean and of its square over each class, over n.
  template <int W>
  INCONTEXT_HD void sum_by_class(LaneArray<T, W> context, LaneArray<T, W> scores, LaneArray<T, W> votes,
                                 LaneArray<T, W> squares) const {
    const std::int64_t n = task.context_length;
    const T share = T(1) / static_cast<T>(n);
    Lanes<T, W> mean(T(0));
    for (std::int64_t j = 0; j < n && !stop_requested_at(j); ++j) {
      scores[j] = dot(task.point(context, j), task.query(context), task.dimension);
      add_scaled(mean, share, scores[j]);
    }
    fill(votes, task.classes, T(0));
    fill(squares, task.classes, T(0));
    for (std::int64_t j = 0; j < n; ++j) {
      const Lanes<T, W>& score = scores[j];
      for (int lane = 0; lane < W; ++lane) {
        const int c = label_of(context, j, lane);
        const T off = score[lane] - mean[lane];
        votes[c][lane] += share * off;
        squares[c][lane] += share * off * off;
      }
    }
  }

  template <int W>
  INCONTEXT_HD int label_of(LaneArray<T, W> context, std::int64_t j, int lane) const {
    if (task.law == ContextLaw::balanced) return static_cast<int>(j / task.class_size());
    return static_cast<int>(context[task.labels_row() + j][lane]);
  }
};

}  // namespace incontext::simulate
