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

/// One trial of the alignment of pairs of rules.
///
/// \f[ \frac1k \sum_c \frac{\nabla p^A_c \cdot \nabla p^B_c}{|\nabla p^A_c|\,|\nabla p^B_c|} \f]
///
/// A class whose derivative vanishes counts 0: saturated predictions make its direction meaningless.
///
/// Source    arXiv 2510.10425, Section 4.
/// Shapes    3 values a pair, in the order of AlignmentMetric.
/// Units     dimensionless.
/// Domain    as ClassificationTrial.
/// Accuracy  trial by trial against classification::linear_descent and its kin: tests/simulate/classification.cpp.
/// Random    as SphereTaskDraw.
/// Runs on   host and device
template <class T>
struct AlignmentTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 4096;  // directions of small derivatives lose digits
  static constexpr std::string_view grows_with = "context_length x dimension and classes x dimension";
  SphereTaskDraw<T> task;
  const ClassificationPair<T>* pairs;
  int size;

  INCONTEXT_HD int outputs() const { return 3 * size; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return task.rows() + votes().rows_with_derivatives() + task.classes + 2 * prediction_rows();
  }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    const auto context = scratch, state = scratch.after(task.rows());
    const auto first = state.after(votes().rows_with_derivatives() + task.classes);
    task.template draw<W>(seed, first_trial, context);
    votes().template start<W>(context, state);
    for (int i = 0; i < size && !stop_requested(); ++i) {
      predict<W>(context, state, pairs[i].first, first);
      predict<W>(context, state, pairs[i].second, first.after(prediction_rows()));
      compare<W>(first, values + 3 * i * value_stride, value_stride);
    }
  }

 private:
  INCONTEXT_HD detail::ContextVotes<T> votes() const { return {task}; }
  INCONTEXT_HD std::int64_t prediction_rows() const { return std::int64_t{task.classes} * (1 + task.dimension); }

  template <int W>
  INCONTEXT_HD void predict(detail::Scratch<T, W> context, detail::Scratch<T, W> state,
                            const ClassificationPoint<T>& point, detail::Scratch<T, W> out) const {
    const detail::VotedPrediction<T> prediction{task};
    alignas(W >= 16 ? 64 : 8) T log_sum[W], is_right[W];
    votes().template vote<W>(context, state, point.rule, point.kappa);
    prediction.template predict<W>(state.after(votes().votes_row()), point.gain, context.row(task.label_row()),
                                   state.after(votes().rows_with_derivatives()), out, log_sum, is_right);
    prediction.template differentiate<W>(state.after(votes().derivative_row()), point.gain, out,
                                         out.after(task.classes));
  }

  template <int W>
  INCONTEXT_HD void compare(detail::Scratch<T, W> first, T* out, std::int64_t stride) const {
    using std::sqrt;
    const int d = task.dimension, k = task.classes;
    const auto second = first.after(prediction_rows());
    alignas(W >= 16 ? 64 : 8) T square[W], product[W], square_a[W], square_b[W], apart[W], cosine[W];
    detail::fill<W>(square, T(0));
    detail::fill<W>(apart, T(0));
    detail::fill<W>(cosine, T(0));
    for (int c = 0; c < k; ++c) {
      const T *p = first.row(c), *q = second.row(c);
      for (int lane = 0; lane < W; ++lane) square[lane] += (p[lane] - q[lane]) * (p[lane] - q[lane]);
      detail::fill<W>(product, T(0));
      detail::fill<W>(square_a, T(0));
      detail::fill<W>(square_b, T(0));
      for (int i = 0; i < d; ++i) {
        const T *a = first.row(k + c * d + i), *b = second.row(k + c * d + i);
        for (int lane = 0; lane < W; ++lane) {
          product[lane] += a[lane] * b[lane];
          square_a[lane] += a[lane] * a[lane];
          square_b[lane] += b[lane] * b[lane];
          apart[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
        }
      }
      for (int lane = 0; lane < W; ++lane) {
        const T norms = sqrt(square_a[lane]) * sqrt(square_b[lane]);
        cosine[lane] += norms > T(0) ? product[lane] / norms : T(0);
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      out[lane] = sqrt(square[lane]);
      out[stride + lane] = cosine[lane] / static_cast<T>(k);
      out[2 * stride + lane] = sqrt(apart[lane]);
    }
  }
};

}  // namespace incontext::simulate
