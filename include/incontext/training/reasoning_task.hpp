#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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

/// One example of the reasoning task: a, b, c, d, and the chance that the answer is c; otherwise it is d.
struct ReasoningExample {
  std::array<std::int32_t, 4> values{};
  double chance_of_c = 1;
};

/// Refuses values and chances outside their domain.
///
/// Errors    std::invalid_argument or std::domain_error that names the value.
inline void validate(const ReasoningExample& example, int largest_value) {
  constexpr std::string_view where = "training::ReasoningExample";
  for (const std::int32_t value : example.values) {
    if (value < 0 || largest_value < value) {
      throw_invalid_argument(where, "a value is outside the task", value, "0 to " + std::to_string(largest_value));
    }
  }
  if (!(0 <= example.chance_of_c && example.chance_of_c <= 1)) {
    throw_domain_error(where, "chance_of_c is not a probability", example.chance_of_c, "0 to 1");
  }
}

/// How examples are answered: by the task's rule; or by a coin with the rule's chances, which knows nothing of the
/// parities, so that nothing better can be learned than the plateau of ReasoningTask.
enum class ReasoningAnswers { rule, coin };

/// What is computed of examples.
enum class ReasoningWork { loss, gradient, gradient_and_entropy };

/// The example of a number from 0 to (largest_value + 1)^4 - 1, whose digits are a, b, c, d.
///
/// Source    arXiv 2310.12956, Sec. 4.
/// Domain    1 <= largest_value <= 1000.
/// Errors    std::invalid_argument for an index outside the task.
/// Accuracy  exact; all examples are counted in tests/training/reasoning_transformer.cpp.
inline ReasoningExample reasoning_example(int largest_value, std::int64_t index,
                                          ReasoningAnswers answers = ReasoningAnswers::rule) {
  const auto task = reasoning_task(largest_value);
  if (index < 0 || task.inputs <= index) {
    throw_invalid_argument("training::reasoning_example", "index is outside the task", index,
                           "0 to " + std::to_string(task.inputs - 1));
  }
  ReasoningExample example;
  for (std::size_t i = example.values.size(); i-- > 0; index /= largest_value + 1) {
    example.values[i] = static_cast<std::int32_t>(index % (largest_value + 1));
  }
  const bool differ = (example.values[0] + example.values[1]) % 2 == 1;
  example.chance_of_c = answers == ReasoningAnswers::coin ? task.parities_differ : differ ? 1.0 : 0.0;
  return example;
}

}  // namespace incontext::training
