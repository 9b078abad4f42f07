#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::training {

/// The two-step reasoning task: a, b, c, d in {0 ... n}; the answer is c if a and b differ in parity, else d.
///
/// Units     probabilities; plateau_cross_entropy in nats.
template <Real T>
struct ReasoningTask {
  std::int64_t inputs;    ///< (n + 1)^4
  std::int64_t training;  ///< 30% of them, rounded down
  T parities_differ;      ///< P(the answer is c by rule)
  T coin_accuracy;        ///< of a coin between c and d
  T always_c_accuracy;
  T always_d_accuracy;
  T plateau_cross_entropy;  ///< of knowing c, d and the chance of the rule, but not the parities
};

/// Exact chances of the reasoning task before the step that reads the parities is learned.
///
/// \f[ P_g = \frac{2 e o}{m^2},\quad \text{coin } \tfrac12 (1 + \tfrac1m),\quad
///     \text{always c } P_g + \frac{1 - P_g}{m},\quad \text{plateau } (1 - \tfrac1m) h(P_g) \f]
///
/// m = n + 1 values, e even and o odd ones; h is the entropy of a coin with chance P_g.
///
/// Source    arXiv 2310.12956, Sec. 4; derived: docs/theory/training.md#reasoning-task.
/// Units     as ReasoningTask.
/// Domain    1 <= largest_value < 55000, so that the number of inputs fits in 63 bits.
/// Limits    n = 10: 60/121, 6/11, 721/1331, 731/1331, (10/11) h(60/121).
/// Errors    std::invalid_argument for largest_value outside the domain.
/// Accuracy  8 eps; enumeration of all inputs: tests/training/reasoning_task.cpp.
template <Real T = double>
ReasoningTask<T> reasoning_task(std::int64_t largest_value) {
  using std::log;
  require_at_least("training::reasoning_task", "largest_value", largest_value, std::int64_t{1});
  if (largest_value >= 55000) {
    throw_invalid_argument("training::reasoning_task", "largest_value is too large", largest_value, "below 55000");
  }
  const std::int64_t values = largest_value + 1, odd = values / 2, even = values - odd;
  const T m = T(static_cast<double>(values)), square = m * m;
  const T differ = T(static_cast<double>(2 * even * odd)) / square;
  const T same = T(static_cast<double>(even * even + odd * odd)) / square;
  const std::int64_t inputs = values * values * values * values;
  return {.inputs = inputs,
          .training = inputs / 10 * 3 + inputs % 10 * 3 / 10,
          .parities_differ = differ,
          .coin_accuracy = (T(1) + T(1) / m) / T(2),
          .always_c_accuracy = differ + same / m,
          .always_d_accuracy = same + differ / m,
          .plateau_cross_entropy = -((m - T(1)) / m) * (differ * log(differ) + same * log(same))};
}

}  // namespace incontext::training
