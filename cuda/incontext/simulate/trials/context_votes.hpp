#pragma once

#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/types/classification.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_task_draw.hpp"

namespace incontext::simulate::detail {

/// Natural logarithm of 1 + x, x >= 0: what 1 + x loses to rounding comes back.
INCONTEXT_HD inline float log_one_plus(float x) {
  const float u = 1.0f + x, lost = x - (u - 1.0f), share = 1.0f - x;
  return -0.5f * elementary::minus_two_log(u) + lost * (share > 0.0f ? share : 0.0f);
}
INCONTEXT_HD inline double log_one_plus(double x) {
  const double u = 1.0 + x, lost = x - (u - 1.0), share = 1.0 - x;
  return elementary::log(u) + lost * (share > 0.0 ? share : 0.0);
}

/// The votes of a context's points, W trials side by side. Plain sums over the points, in their order.
///
/// Rows of state: scores n, weights n, the largest and the least score, votes k; with derivatives k d more, and d for
/// the mean point.
template <class T>
struct ContextVotes {
  SphereTaskDraw<T> task;

  INCONTEXT_HD std::int64_t largest_row() const { return 2 * task.context_length; }
  INCONTEXT_HD std::int64_t votes_row() const { return largest_row() + 2; }
  INCONTEXT_HD std::int64_t derivative_row() const { return votes_row() + task.classes; }
  INCONTEXT_HD std::int64_t rows() const { return derivative_row(); }
  INCONTEXT_HD std::int64_t rows_with_derivatives() const {
    return rows() + (std::int64_t{task.classes} + 1) * task.dimension;
  }

  /// Scores of all points with the query.
  template <int W>
  INCONTEXT_HD void start(Scratch<T, W> context, Scratch<T, W> state) const {
    T* __restrict__ largest = state.row(largest_row());
    T* __restrict__ least = state.row(largest_row() + 1);
    const auto query = context.after(task.query_row());
    for (std::int64_t j = 0; j < task.context_length && !stop_requested(); ++j) {
      T* __restrict__ score = state.row(j);
      fill<W>(score, T(0));
      add_dot<W>(score, context.after(j * task.dimension), query, task.dimension);
      for (int lane = 0; lane < W; ++lane) {
        largest[lane] = j == 0 || score[lane] > largest[lane] ? score[lane] : largest[lane];
        least[lane] = j == 0 || score[lane] < least[lane] ? score[lane] : least[lane];
      }
    }
  }

  /// Votes per unit of gain and their derivatives by the query. The kernel is the Gaussian, the query's
  /// own key e^(kappa x.x): off the sphere, where the derivatives look, they differ from their kin.
  template <int W>
  INCONTEXT_HD void vote(Scratch<T, W> context, Scratch<T, W> state, ClassificationRule rule, T kappa) const {
    alignas(W >= 16 ? 64 : 8) T scale[W], own[W];
    const auto votes = state.after(votes_row());
    weigh<W>(state, rule, kappa);
    for (int c = 0; c < task.classes; ++c) fill<W>(votes.row(c), T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      add_by_class<W>(context, j, votes, state.row(task.context_length + j), 1, 0);
    }
    normalise_votes<W>(state, votes, rule, kappa, scale, own);
    differentiate<W>(context, state, rule, kappa, scale, own);
  }

  /// The votes alone, elsewhere, bit by bit the same: for many rows at once, which keep no weights.
  template <int W>
  INCONTEXT_HD void vote(Scratch<T, W> context, Scratch<T, W> state, ClassificationRule rule, T kappa,
                         Scratch<T, W> votes) const {
    alignas(W >= 16 ? 64 : 8) T scale[W], own[W], weight[W];
    const T* __restrict__ top = state.row(largest_row() + (kappa < T(0) ? 1 : 0));
    for (int c = 0; c < task.classes; ++c) fill<W>(votes.row(c), T(0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      const T* __restrict__ score = state.row(j);
      if (rule == ClassificationRule::linear) {
        add_by_class<W>(context, j, votes, score, 1, 0);
      } else {
        for (int lane = 0; lane < W; ++lane) weight[lane] = elementary::exp(kappa * (score[lane] - top[lane]));
        add_by_class<W>(context, j, votes, weight, 1, 0);
      }
    }
    normalise_votes<W>(state, votes, rule, kappa, scale, own);
  }

 private:
  template <int W>
  INCONTEXT_HD void weigh(Scratch<T, W> state, ClassificationRule rule, T kappa) const {
    const T* __restrict__ top = state.row(largest_row() + (kappa < T(0) ? 1 : 0));
    for (std::int64_t j = 0; j < task.context_length; ++j) {
      const T* __restrict__ score = state.row(j);
      T* __restrict__ weight = state.row(task.context_length + j);
      if (rule == ClassificationRule::linear) {
        for (int lane = 0; lane < W; ++lane) weight[lane] = score[lane];
      } else {
        for (int lane = 0; lane < W; ++lane) weight[lane] = elementary::exp(kappa * (score[lane] - top[lane]));
      }
    }
  }

  /// Adds a row to component i of the class of point j, `stride` components a class.
  template <int W>
  INCONTEXT_HD void add_by_class(Scratch<T, W> context, std::int64_t j, Scratch<T, W> sums, const T* term, int stride,
                                 int i) const {
    if (task.law == ContextLaw::balanced) {
      return add_scaled<W>(sums.row(j / task.class_size() * stride + i), T(1), term);
    }
    const T* label = context.row(task.labels_row() + j);
    for (int lane = 0; lane < W; ++lane) sums.row(static_cast<int>(label[lane]) * stride + i)[lane] += term[lane];
  }

  /// Turns class sums of weights into votes; `scale` is what a weight was multiplied by, `own` the query's weight.
  template <int W>
  INCONTEXT_HD void normalise_votes(Scratch<T, W> state, Scratch<T, W> votes, ClassificationRule rule, T kappa,
                                    T* scale, T* own) const {
    const T share = T(1) / static_cast<T>(task.context_length);
    const T *largest = state.row(largest_row()), *least = state.row(largest_row() + 1);
    fill<W>(own, T(0));
    fill<W>(scale, rule == ClassificationRule::linear ? share : T(0));
    if (rule == ClassificationRule::kernel) {
      for (int lane = 0; lane < W; ++lane) scale[lane] = share * elementary::exp(kappa * (largest[lane] - T(1)));
    } else if (rule != ClassificationRule::linear) {
      for (int c = 0; c < task.classes; ++c) add_scaled<W>(scale, T(1), votes.row(c));
      const bool selects = !(kappa < T(0)), is_key = rule == ClassificationRule::adaptive_with_query;
      for (int lane = 0; lane < W; ++lane) {
        // the query's weight and the points', both relative to the larger
        const T gap = kappa * (selects ? largest[lane] - T(1) : T(1) - least[lane]);
        const T smaller = is_key ? elementary::exp(gap) : T(0);
        const T points = is_key && selects ? smaller : T(1), query = is_key && selects ? T(1) : smaller;
        const T inverse = T(1) / (points * scale[lane] + query);
        scale[lane] = points * inverse;
        own[lane] = query * inverse;
      }
    }
    for (int c = 0; c < task.classes; ++c) {
      T* __restrict__ vote = votes.row(c);
      for (int lane = 0; lane < W; ++lane) vote[lane] *= scale[lane];
    }
  }

  template <int W>
  INCONTEXT_HD void differentiate(Scratch<T, W> context, Scratch<T, W> state, ClassificationRule rule, T kappa,
                                  const T* scale, const T* own) const {
    const int d = task.dimension, k = task.classes;
    const auto derivative = state.after(derivative_row()), mean = derivative.after(std::int64_t{k} * d);
    const auto query = context.after(task.query_row());
    for (int i = 0; i < k * d; ++i) fill<W>(derivative.row(i), T(0));
    alignas(W >= 16 ? 64 : 8) T term[W];
    for (std::int64_t j = 0; j < task.context_length && !stop_requested(); ++j) {
      const T* __restrict__ weight = state.row(task.context_length + j);
      for (int i = 0; i < d; ++i) {
        const T* __restrict__ x = context.row(j * d + i);
        if (rule == ClassificationRule::linear) {
          for (int lane = 0; lane < W; ++lane) term[lane] = scale[lane] * x[lane];
        } else {
          for (int lane = 0; lane < W; ++lane) term[lane] = scale[lane] * weight[lane] * x[lane];
        }
        add_by_class<W>(context, j, derivative, term, d, i);
      }
    }
    if (rule == ClassificationRule::linear) return;
    for (int i = 0; i < d; ++i) {
      const T* __restrict__ x = query.row(i);
      T* __restrict__ centre = mean.row(i);
      if (rule == ClassificationRule::kernel) {
        for (int lane = 0; lane < W; ++lane) centre[lane] = x[lane];
      } else {
        for (int lane = 0; lane < W; ++lane) centre[lane] = T(2) * own[lane] * x[lane];
        for (int c = 0; c < k; ++c) add_scaled<W>(centre, T(1), derivative.row(c * d + i));
      }
      for (int c = 0; c < k; ++c) {
        T* __restrict__ row = derivative.row(c * d + i);
        const T* __restrict__ vote = state.row(votes_row() + c);
        for (int lane = 0; lane < W; ++lane) row[lane] = kappa * (row[lane] - vote[lane] * centre[lane]);
      }
    }
  }
};

}  // namespace incontext::simulate::detail
