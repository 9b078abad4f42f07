#pragma once

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/context_votes.hpp"
#include "incontext/simulate/classification/sphere_points.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate::detail {

/// Predictions of W trials from votes and a gain.
template <class T>
struct VotedPrediction {
  SphereTaskDraw<T> task;

  /// What follows from a row of logits: the logarithm of the sum of their exponentials relative to the largest, whether
  /// the label has the largest, 1 or 0, and the largest probability.
  template <int W>
  struct Outcome {
    Lanes<T, W> log_sum;
    Lanes<T, W> is_right;
    Lanes<T, W> largest;
  };

  /// Computes the logits relative to the largest, and the probabilities.
  template <int W>
  INCONTEXT_HD Outcome<W> predict(LaneArray<T, W> votes, T gain, const Lanes<T, W>& label, LaneArray<T, W> logits,
                                  LaneArray<T, W> probabilities) const {
    Lanes<T, W> largest(T(0)), first(T(0));
    for (int c = 0; c < task.classes; ++c) {
      logits[c] = gain * votes[c];
      raise(largest, first, logits[c], c);
    }
    Lanes<T, W> sum(T(0));  // of all but the largest, whose term is 1
    for (int c = 0; c < task.classes; ++c) {
      logits[c] -= largest;
      probabilities[c] = Lanes<T, W>::each([&](int lane) { return elementary::exp(logits[c][lane]); });
      const T number = static_cast<T>(c);
      sum += Lanes<T, W>::each([&](int lane) { return number == first[lane] ? T(0) : probabilities[c][lane]; });
    }
    const Lanes<T, W> share = T(1) / (T(1) + sum);
    for (int c = 0; c < task.classes; ++c) probabilities[c] *= share;
    return {Lanes<T, W>::each([&](int lane) { return log_one_plus(sum[lane]); }),
            Lanes<T, W>::each([&](int lane) { return first[lane] == label[lane] ? T(1) : T(0); }), share};
  }

  /// dp/dx from the votes' derivatives: (diag p - p p^T) gain D.
  template <int W>
  INCONTEXT_HD void differentiate(LaneArray<T, W> derivative, T gain, LaneArray<T, W> probabilities,
                                  LaneArray<T, W> jacobian) const {
    const int d = task.dimension, k = task.classes;
    for (int i = 0; i < d; ++i) {
      Lanes<T, W> mean(T(0));
      for (int c = 0; c < k; ++c) add_product(mean, probabilities[c], derivative[c * d + i]);
      for (int c = 0; c < k; ++c) jacobian[c * d + i] = gain * probabilities[c] * (derivative[c * d + i] - mean);
    }
  }

 private:
  /// Makes class c the class of the largest logit in the trials in which its logit is above those of the classes before
  /// it.
  template <int W>
  INCONTEXT_HD static void raise(Lanes<T, W>& __restrict__ largest, Lanes<T, W>& __restrict__ first,
                                 const Lanes<T, W>& __restrict__ logit, int c) {
    if (c == 0) {
      largest = logit;
      first = T(0);
    } else {
      raise_best(largest, first, logit, static_cast<T>(c));
    }
  }
};

}  // namespace incontext::simulate::detail
