#pragma once

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/types/classification.hpp"
#include "incontext/simulate/trials/context_votes.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_task_draw.hpp"

namespace incontext::simulate::detail {

/// Predictions of W trials from votes and a gain.
template <class T>
struct VotedPrediction {
  SphereTaskDraw<T> task;

  /// Logits relative to the largest, then probabilities; and which trials' label has the largest.
  template <int W>
  INCONTEXT_HD void predict(Scratch<T, W> votes, T gain, const T* label, Scratch<T, W> logits,
                            Scratch<T, W> probabilities, T* log_sum, T* is_right) const {
    alignas(W >= 16 ? 64 : 8) T largest[W], first[W], sum[W];
    fill<W>(largest, T(0));
    fill<W>(first, T(0));
    for (int c = 0; c < task.classes; ++c) {
      const T* __restrict__ vote = votes.row(c);
      T* __restrict__ logit = logits.row(c);
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) {
        logit[lane] = gain * vote[lane];
        const bool higher = c == 0 || logit[lane] > largest[lane];
        largest[lane] = higher ? logit[lane] : largest[lane];
        first[lane] = higher ? number : first[lane];
      }
    }
    fill<W>(sum, T(0));
    for (int c = 0; c < task.classes; ++c) {
      T* __restrict__ logit = logits.row(c);
      T* __restrict__ p = probabilities.row(c);
      const T number = static_cast<T>(c);
      for (int lane = 0; lane < W; ++lane) {
        logit[lane] -= largest[lane];
        p[lane] = elementary::exp(logit[lane]);
        sum[lane] += number == first[lane] ? T(0) : p[lane];  // all but the largest, whose term is 1
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      log_sum[lane] = log_one_plus(sum[lane]);
      is_right[lane] = first[lane] == label[lane] ? T(1) : T(0);
      sum[lane] = T(1) / (T(1) + sum[lane]);
    }
    for (int c = 0; c < task.classes; ++c) {
      T* __restrict__ p = probabilities.row(c);
      for (int lane = 0; lane < W; ++lane) p[lane] *= sum[lane];
    }
  }

  /// dp/dx from the votes' derivatives: (diag p - p p^T) gain D.
  template <int W>
  INCONTEXT_HD void differentiate(Scratch<T, W> derivative, T gain, Scratch<T, W> probabilities,
                                  Scratch<T, W> jacobian) const {
    const int d = task.dimension, k = task.classes;
    alignas(W >= 16 ? 64 : 8) T mean[W];
    for (int i = 0; i < d; ++i) {
      fill<W>(mean, T(0));
      for (int c = 0; c < k; ++c) add_product<W>(mean, probabilities.row(c), derivative.row(c * d + i));
      for (int c = 0; c < k; ++c) {
        const T* __restrict__ p = probabilities.row(c), * __restrict__ row = derivative.row(c * d + i);
        T* __restrict__ out = jacobian.row(c * d + i);
        for (int lane = 0; lane < W; ++lane) out[lane] = gain * p[lane] * (row[lane] - mean[lane]);
      }
    }
  }
};

}  // namespace incontext::simulate::detail
