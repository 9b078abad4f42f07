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

/// Each trial draws a context and a query of the sphere task, predicts the query's class by every classifier of a list,
/// and measures the predictions. Classifiers that follow one another and differ in
/// gain alone share their votes a_j, which are computed once.
///
/// \f[ p = \mathrm{softmax}\Bigl(\mathrm{gain} \sum_j a_j y_j\Bigr) \f]
///
/// Source    arXiv 2510.10425, eq. (1) to (3): sums of votes. Attention over tokens is ContextAttentionTrial.
/// Shapes    7 values per classifier, in the order of ClassificationMetric.
/// Domain    as SphereTaskDraw; kernel: kappa >= 0.
/// Accuracy  trial by trial against classification::linear_descent and its relatives:
///           tests/simulate/classification/classifiers.cpp.
/// Runs on   host and device
template <class T>
struct ClassificationTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 32;  // without the rounding of the logits, which classification adds
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const ClassificationPoint<T>* points;
  int size;

  INCONTEXT_HD int outputs() const { return size * detail::classification_metrics; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return task.rows() + votes().rows_with_derivatives() + std::int64_t{task.classes} * (2 + task.dimension);
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<T, W> scratch, LaneArray<T, W> values) const {
    const auto context = scratch.take(task.rows());
    const auto state = votes().state(scratch.take(votes().rows_with_derivatives()));
    task.draw(trials, context);
    votes().start(context, state);
    for (int i = 0; i < size && !stop_requested(); ++i) {
      const bool is_new = i == 0 || points[i].rule != points[i - 1].rule || points[i].kappa != points[i - 1].kappa;
      if (is_new) votes().vote(context, state, points[i].rule, points[i].kappa);
      measure(task.query_label(context), state, points[i].gain, scratch,
              values.after(i * detail::classification_metrics));
    }
  }

 private:
  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }

  template <int W, class State>
  INCONTEXT_HD void measure(const Lanes<T, W>& label, const State& state, T gain, LaneArray<T, W> scratch,
                            LaneArray<T, W> values) const {
    using Metric = ClassificationMetric;
    const detail::VotedPrediction<T> prediction{task};
    const auto logits = scratch.take(task.classes), probabilities = scratch.take(task.classes), jacobian = scratch;
    const auto outcome = prediction.predict(state.votes, gain, label, logits, probabilities);
    prediction.differentiate(state.derivative, gain, probabilities, jacobian);
    const auto of_label = [&](LaneArray<T, W> numbers) {
      return Lanes<T, W>::each([&](int lane) { return numbers[static_cast<int>(label[lane])][lane]; });
    };
    values[Metric::loss] = outcome.log_sum - of_label(logits);
    values[Metric::accuracy] = outcome.is_right;
    values[Metric::entropy] = outcome.log_sum - dot(probabilities, logits, task.classes);
    values[Metric::probability] = of_label(probabilities);
    values[Metric::sensitivity] = sqrt(dot(jacobian, jacobian, task.classes * task.dimension));
    values[Metric::confidence] =
        Lanes<T, W>::each([&](int lane) { return outcome.largest[lane] > T(confident_probability) ? T(1) : T(0); });
    values[Metric::confident_error] = values[Metric::confidence] * (T(1) - outcome.is_right);
  }
};

}  // namespace incontext::simulate
