#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/training/reasoning_example.hpp"
#include "incontext/training/reasoning_task.hpp"

namespace incontext::training::detail {

/// All inputs of the reasoning task, divided at random into examples to train on and examples that are held out.
struct ReasoningSets {
  std::vector<training::ReasoningExample> trained, held_out;

  /// The inputs are put in the order of random 64-bit numbers; the first `share` of them are trained on.
  ReasoningSets(int largest_value, training::ReasoningAnswers answers, double share, std::uint64_t seed) {
    const std::int64_t inputs = training::reasoning_task(largest_value).inputs;
    std::vector<std::pair<std::uint64_t, std::int64_t>> order;
    for (std::int64_t index = 0; index < inputs; ++index) {
      std::uint32_t words[4];
      random::philox(
          seed, {static_cast<std::uint64_t>(index), 0, random::StreamTag(random::TrainingStream::held_out).number()},
          words);
      order.emplace_back(std::uint64_t{words[0]} << 32 | words[1], index);
    }
    std::sort(order.begin(), order.end());
    const auto count = static_cast<std::size_t>(share * static_cast<double>(inputs));
    for (std::size_t i = 0; i < order.size(); ++i) {
      (i < count ? trained : held_out).push_back(training::reasoning_example(largest_value, order[i].second, answers));
    }
  }

  /// The examples of a step's batch, drawn with replacement.
  [[nodiscard]] std::vector<training::ReasoningExample> batch(std::uint64_t seed, std::int64_t step,
                                                              std::int64_t size) const {
    std::vector<training::ReasoningExample> examples;
    for (std::int64_t i = 0; i < size; ++i) {
      std::uint32_t words[4];
      random::philox(seed,
                     {static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(i),
                      random::StreamTag(random::TrainingStream::batch).number()},
                     words);
      examples.push_back(trained[static_cast<std::size_t>(std::uint64_t{words[0]} * trained.size() >> 32)]);
    }
    return examples;
  }
};

}  // namespace incontext::training::detail
