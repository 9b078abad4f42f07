#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/types/classification.hpp"
#include "incontext/simulate/trials/context_votes.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/voted_prediction.hpp"
#include "incontext/simulate/trials/sphere_task_draw.hpp"

namespace incontext::simulate {

/// One trial of in-context classification: a context of the sphere task, and what every rule of a list makes of its
/// query. Rules of the same kind and kappa that follow one another share their kernel.
///
/// \f[ p = \mathrm{softmax}\Bigl(\mathrm{gain} \sum_j a_j y_j\Bigr) \f]
///
/// Source    arXiv 2510.10425: attention as written, over the tokens.
/// Shapes    5 values a point, in the order of ClassificationMetric.
/// Units     as ClassificationMetric.
/// Domain    as SphereTaskDraw; kernel: kappa >= 0.
/// Accuracy  trial by trial against classification::linear_descent and its kin: tests/simulate/classification.cpp.
/// Random    as SphereTaskDraw.
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
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    const auto context = scratch, state = scratch.after(task.rows());
    task.template draw<W>(seed, first_trial, context);
    votes().template start<W>(context, state);
    for (int i = 0; i < size && !stop_requested(); ++i) {
      const bool is_new = i == 0 || points[i].rule != points[i - 1].rule || points[i].kappa != points[i - 1].kappa;
      if (is_new) votes().template vote<W>(context, state, points[i].rule, points[i].kappa);
      measure<W>(context, state, points[i].gain, values + i * detail::classification_metrics * value_stride,
                 value_stride);
    }
  }

 private:
  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }

  template <int W>
  INCONTEXT_HD void measure(detail::Scratch<T, W> context, detail::Scratch<T, W> state, T gain, T* out,
                            std::int64_t stride) const {
    using std::sqrt;
    const detail::VotedPrediction<T> prediction{task};
    const auto logits = state.after(votes().rows_with_derivatives()), probabilities = logits.after(task.classes),
               jacobian = probabilities.after(task.classes);
    const T* label = context.row(task.label_row());
    alignas(W >= 16 ? 64 : 8) T log_sum[W], is_right[W], square[W], tilted[W], logit[W], probability[W];
    prediction.template predict<W>(state.after(votes().votes_row()), gain, label, logits, probabilities, log_sum,
                                   is_right);
    prediction.template differentiate<W>(state.after(votes().derivative_row()), gain, probabilities, jacobian);
    detail::fill<W>(square, T(0));
    detail::add_dot<W>(square, jacobian, jacobian, task.classes * task.dimension);
    detail::fill<W>(tilted, T(0));
    detail::add_dot<W>(tilted, probabilities, logits, task.classes);
    for (int lane = 0; lane < W; ++lane) {
      logit[lane] = logits.row(static_cast<int>(label[lane]))[lane];
      probability[lane] = probabilities.row(static_cast<int>(label[lane]))[lane];
    }
    for (int lane = 0; lane < W; ++lane) {
      out[lane] = log_sum[lane] - logit[lane];
      out[stride + lane] = is_right[lane];
      out[2 * stride + lane] = log_sum[lane] - tilted[lane];
      out[3 * stride + lane] = probability[lane];
      out[4 * stride + lane] = sqrt(square[lane]);
    }
  }
};

}  // namespace incontext::simulate
