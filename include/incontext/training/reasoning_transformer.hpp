#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/training/detail/head_map.hpp"
#include "incontext/training/detail/reasoning_pass.hpp"
#include "incontext/training/detail/reasoning_sums.hpp"
#include "incontext/training/detail/token_tables.hpp"
#include "incontext/training/learned_map.hpp"
#include "incontext/training/reasoning_layout.hpp"
#include "incontext/training/reasoning_task.hpp"

namespace incontext::training {

/// Loss, accuracy, attention entropy and gradient of a reasoning transformer, as means over examples.
///
/// The standard error of the loss is that for examples drawn at random.
///
/// Shapes    entropy: of the class token's attention, one number per head; gradient: as the parameters.
/// Units     loss and entropy in nats; accuracy a probability.
template <Real T>
struct ReasoningGradient {
  using Wide = typename detail::ReasoningSums<T>::Wide;
  Wide loss = 0, loss_standard_error = 0, accuracy = 0;
  std::vector<Wide> entropy;
  std::vector<T> gradient;
};

/// Examples are worked on in blocks of this many, whose sums are added in order.
inline constexpr std::ptrdiff_t reasoning_block = 128;

/// A reasoning transformer at given parameters. What depends on the parameters alone is computed once. Blocks of
/// examples may be worked on at the same time; their sums are then added in order.
///
/// Source    derived: docs/theory/training.md#reasoning-transformer.
/// Shapes    parameters: layout.size() numbers, which must outlive this.
/// Errors    none of its own: reasoning_gradient checks its arguments.
/// Accuracy  as reasoning_gradient.
template <scoring::Scoring Map>
class ReasoningModel {
 public:
  using T = typename Map::value_type;
  using Sums = detail::ReasoningSums<T>;

  ReasoningModel(const ReasoningLayout& layout, const Map& map, const T* parameters)
      : tables_(layout, parameters), map_{map} {}

  /// The sums over a block of examples.
  void sum(std::span<const ReasoningExample> examples, ReasoningWork work, Sums& sums) const {
    sums.clear(tables_.layout(), work);
    detail::ReasoningPass<T> pass(tables_, detail::HeadMap<T>(map_), examples);
    pass.forward(sums);
    if (work != ReasoningWork::loss) pass.backward(sums);
    if (work == ReasoningWork::gradient_and_entropy) pass.add_entropy(sums);
  }

  /// Means from the sums over all examples.
  [[nodiscard]] ReasoningGradient<T> means(const Sums& sums, std::ptrdiff_t examples, ReasoningWork work) const {
    ReasoningGradient<T> means;
    const auto count = static_cast<typename Sums::Wide>(examples);
    means.loss = sums.loss / count;
    means.loss_standard_error = std::sqrt(sums.losses.sum_of_squares) / static_cast<double>(examples);
    means.accuracy = sums.accuracy / count;
    for (const auto& entropy : sums.entropy) means.entropy.push_back(entropy / count);
    if (work != ReasoningWork::loss) means.gradient = sums.mean_gradient(tables_, examples);
    return means;
  }

 private:
  detail::TokenTables<T> tables_;
  LearnedMap<Map> map_;
};

/// Loss, accuracy and exact gradient of a transformer of one block on the reasoning task. The class token c attends to
/// the four values of the example and to itself, in `heads` heads with the weights a = map(raw scores):
///
/// \f[ z = \mathrm{LN}_1(x),\quad s_{h,t} = (W_K z_t)_h \cdot (W_Q z_c)_h,\quad
///     u = x_c + W_O \Bigl( \textstyle\sum_t a_{h,t} (W_V z_t)_h \Bigr)_h,\quad
///     w = u + W_2\, (W_1 \mathrm{LN}_2(u) + b_1)_+ + b_2,\quad
///     L = -\log \mathrm{softmax}(H\, \mathrm{LN}_f(w) + b) \f]
///
/// The map reads the raw scores, so the temperature belongs to the map: Softmax{sqrt(width / heads)} is the usual
/// layer. If the answer is c with a probability between 0 and 1, the loss is the mean over both answers.
///
///     const training::ReasoningLayout layout({.width = 16, .heads = 2, .hidden = 32});
///     const std::vector<double> parameters(static_cast<std::size_t>(layout.size()), 0.1);
///     const std::vector<training::ReasoningExample> examples(1);
///     const auto at = training::reasoning_gradient<scoring::Softmax<double>>(layout, {4}, parameters, examples);
///
/// Source    arXiv 2310.12956, Section 4 (task, one layer, four heads); the block is the usual one with the layer norms
///           first. Gradients: docs/theory/training.md#reasoning-transformer.
/// Shapes    (parameters: layout.size()) -> ReasoningGradient
/// Domain    finite parameters; map in its domain; values of the examples in 0 ... largest_value.
/// Limits    untrained, with W_O = H = 0: loss log(values).
/// Errors    std::invalid_argument for sizes and values, as require_valid for the map; NaN where the parameters are not
///           finite or the map's derivative is undefined.
/// Accuracy  1e-8 of the largest entry of each part, against differences: tests/training/reasoning_transformer.cpp.
template <scoring::Scoring Map>
ReasoningGradient<typename Map::value_type> reasoning_gradient(const ReasoningLayout& layout, const Map& map,
                                                               std::span<const typename Map::value_type> parameters,
                                                               std::span<const ReasoningExample> examples) {
  constexpr std::string_view where = "training::reasoning_gradient";
  scoring::require_valid(map);
  require_same_size(where, "parameters", std::ssize(parameters), layout.size());
  require_at_least(where, "number of examples", std::ssize(examples), std::ptrdiff_t{1});
  for (const ReasoningExample& example : examples) validate(example, layout.shape().largest_value);
  const ReasoningModel<Map> model(layout, map, parameters.data());
  constexpr auto work = ReasoningWork::gradient_and_entropy;
  typename ReasoningModel<Map>::Sums total, block;
  total.clear(layout, work);
  for (std::ptrdiff_t first = 0; first < std::ssize(examples); first += reasoning_block) {
    const std::ptrdiff_t size = (std::min)(reasoning_block, std::ssize(examples) - first);
    model.sum(examples.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size)), work, block);
    total.add(block);
  }
  return model.means(total, std::ssize(examples), work);
}

INCONTEXT_COMPILED_DECLARATION(training_reasoning_transformer, class detail::TokenTables<float>);
INCONTEXT_COMPILED_DECLARATION(training_reasoning_transformer, class detail::TokenTables<double>);
INCONTEXT_COMPILED_DECLARATION(training_reasoning_transformer, class detail::ReasoningPass<float>);
INCONTEXT_COMPILED_DECLARATION(training_reasoning_transformer, class detail::ReasoningPass<double>);

}  // namespace incontext::training
