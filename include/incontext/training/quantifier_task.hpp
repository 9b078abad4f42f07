#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::training {

/// Chances and baselines of the quantifier task at one prefix length: y_i says whether all ("every") or any ("some") of
/// x_1 ... x_i are positive, for independent x_i of a symmetric law.
///
/// Units     probabilities.
template <Real T>
struct QuantifierTask {
  T every;                          ///< P(all positive) = 2^-i
  T some;                           ///< P(any positive) = 1 - 2^-i
  T last_sign_error;                ///< of the sign of x_i as an answer to "every": 1/2 - 2^-i
  T largest_sign_error;             ///< of the sign of max x as an answer to "every": 1 - 2^(1-i); to "some": 0
  T constant_false_mean_error;      ///< of "no" to "every", averaged over the prefixes 1 ... i: (1 - 2^-i) / i
  T constant_false_sequence_error;  ///< of "no" to "every" at any of the positions 4 ... i: 1/16 from i = 4 on
};

/// The quantifier task's exact chances, whatever the inputs' standard deviation.
///
/// Source    arXiv 2508.14685, Sec. 3, scored from the fourth position on; derived:
///           docs/theory/training.md#quantifier-task.
/// Domain    length >= 1; lengths from 1075 on round 2^-i to 0.
/// Limits    length = 1: the first input answers both.
/// Errors    std::invalid_argument for length outside the domain.
/// Accuracy  1 eps: tests/training/quantifier_task.cpp.
template <Real T = double>
QuantifierTask<T> quantifier_task(std::int64_t length) {
  using std::ldexp;
  require_at_least("training::quantifier_task", "length", length, std::int64_t{1});
  const int halvings = length < 100000 ? static_cast<int>(length) : 100000;
  const T all = ldexp(T(1), -halvings);
  return {.every = all,
          .some = T(1) - all,
          .last_sign_error = T(0.5) - all,
          .largest_sign_error = T(1) - T(2) * all,
          .constant_false_mean_error = (T(1) - all) / T(static_cast<double>(length)),
          .constant_false_sequence_error = length < 4 ? T(0) : T(0.0625)};
}

}  // namespace incontext::training
