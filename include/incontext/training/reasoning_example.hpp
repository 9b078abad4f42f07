#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/training/reasoning_task.hpp"

namespace incontext::training {

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
