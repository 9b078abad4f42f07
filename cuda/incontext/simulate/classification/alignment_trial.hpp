#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/context_votes.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/classification/voted_prediction.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// Each trial measures how much pairs of classifiers agree, in their predictions and in how these change with the
/// query. The alignment of a pair is the cosine between the derivatives of their probabilities by the query, averaged
/// over classes.
///
/// \f[ \frac1k \sum_c \frac{\nabla p^A_c \cdot \nabla p^B_c}{|\nabla p^A_c|\,|\nabla p^B_c|} \f]
///
/// A class for which one of the derivatives vanishes, as it does for saturated predictions, counts as 0: such a
/// derivative has no direction.
///
/// Source    arXiv 2510.10425, Section 4.
/// Shapes    3 values per pair, in the order of AlignmentMetric.
/// Domain    as ClassificationTrial.
/// Accuracy  trial by trial against classification::linear_descent and its relatives:
///           tests/simulate/classification/classifiers.cpp.
/// Runs on   host and device
template <class T>
struct AlignmentTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 4096;  // directions of small derivatives lose digits
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const ClassificationPair<T>* pairs;
  int size;

  INCONTEXT_HD int outputs() const { return detail::alignment_metrics * size; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return task.rows() + votes().rows_with_derivatives() + task.classes + 2 * prediction_rows();
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const auto context = scratch.take(task.rows());
    const auto state = votes().state(scratch.take(votes().rows_with_derivatives()));
    const auto logits = scratch.take(task.classes);
    const Prediction<W> first(scratch.take(prediction_rows()), task.classes), second(scratch, task.classes);
    task.draw(trials, context);
    votes().start(context, state);
    for (int i = 0; i < size && !stop_requested(); ++i) {
      predict(context, state, pairs[i].first, logits, first);
      predict(context, state, pairs[i].second, logits, second);
      compare(first, second, values.after(detail::alignment_metrics * i));
    }
  }

 private:
  /// The probabilities of the classes, and their derivatives by the query, class by class.
  template <int W>
  struct Prediction {
    LaneArray<T, W> probabilities;
    LaneArray<T, W> jacobian;

    INCONTEXT_HD Prediction(LaneArray<T, W> memory, int classes)
        : probabilities(memory), jacobian(memory.after(classes)) {}
  };

  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }
  INCONTEXT_HD std::int64_t prediction_rows() const { return std::int64_t{task.classes} * (1 + task.dimension); }

  template <int W, class State>
  INCONTEXT_HD void predict(LaneArray<T, W> context, const State& state, const ClassificationPoint<T>& point,
                            LaneArray<T, W> logits, const Prediction<W>& out) const {
    const detail::VotedPrediction<T> prediction{task};
    votes().vote(context, state, point.rule, point.kappa);
    (void)prediction.predict(state.votes, point.gain, task.query_label(context), logits, out.probabilities);
    prediction.differentiate(state.derivative, point.gain, out.probabilities, out.jacobian);
  }

  template <int W>
  INCONTEXT_HD void compare(const Prediction<W>& first, const Prediction<W>& second, LaneArray<T, W> values) const {
    using Metric = AlignmentMetric;
    const int d = task.dimension, k = task.classes;
    Lanes<T, W> square(T(0)), apart(T(0)), cosine(T(0));
    for (int c = 0; c < k; ++c) {
      const Lanes<T, W> difference = first.probabilities[c] - second.probabilities[c];
      add_product(square, difference, difference);
      const auto a = first.jacobian.after(c * d), b = second.jacobian.after(c * d);
      for (int i = 0; i < d; ++i) {
        const Lanes<T, W> change = a[i] - b[i];
        add_product(apart, change, change);
      }
      const Lanes<T, W> product = dot(a, b, d), norms = sqrt(dot(a, a, d)) * sqrt(dot(b, b, d));
      cosine += Lanes<T, W>::each([&](int lane) { return norms[lane] > T(0) ? product[lane] / norms[lane] : T(0); });
    }
    values[Metric::predictions_difference] = sqrt(square);
    values[Metric::cosine_similarity] = cosine / static_cast<T>(k);
    values[Metric::sensitivity_difference] = sqrt(apart);
  }
};

}  // namespace incontext::simulate
