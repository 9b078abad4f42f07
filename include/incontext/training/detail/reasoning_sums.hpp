#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/training/detail/token_tables.hpp"
#include "incontext/training/reasoning_layout.hpp"
#include "incontext/training/reasoning_task.hpp"

namespace incontext::training::detail {

/// Sums over examples: loss, accuracy, the attention's entropy, and the gradients by the tables and by the parameters
/// from the class token on. The sums of blocks of examples are added in the order of the blocks, so that the bits do
/// not depend on which thread computed them.
template <Real T>
struct ReasoningSums {
  using Wide = std::common_type_t<T, double>;
  Wide loss = 0, accuracy = 0;
  statistics::Moments losses;
  std::vector<Wide> entropy;
  std::vector<T> gradient;
  Matrix<T> by_scores, by_mixed;

  void clear(const ReasoningLayout& layout, ReasoningWork work) {
    const ReasoningShape& shape = layout.shape();
    loss = accuracy = 0;
    losses = {};
    entropy.assign(static_cast<std::size_t>(shape.heads), Wide(0));
    const bool differentiated = work != ReasoningWork::loss;
    const auto parameters = differentiated ? layout.size() : 0;
    const int tokens = differentiated ? shape.tokens() : 0;
    gradient.assign(static_cast<std::size_t>(parameters), T(0));
    by_scores.setZero(tokens, shape.heads);
    by_mixed.setZero(shape.width, shape.heads * tokens);
  }

  void add(const ReasoningSums& other) {
    loss += other.loss;
    losses = merge(losses, other.losses);
    accuracy += other.accuracy;
    for (std::size_t i = 0; i < entropy.size(); ++i) entropy[i] += other.entropy[i];
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += other.gradient[i];
    by_scores += other.by_scores;
    by_mixed += other.by_mixed;
  }

  /// The gradient of the mean over `examples` examples, by all parameters.
  [[nodiscard]] std::vector<T> mean_gradient(const TokenTables<T>& tables, std::ptrdiff_t examples) const {
    std::vector<T> result = gradient;
    tables.pull_back(by_scores, by_mixed, result.data());
    for (T& number : result) number /= static_cast<T>(examples);
    return result;
  }
};

}  // namespace incontext::training::detail
