#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/training/detail/head_map.hpp"
#include "incontext/training/detail/sequence_pass.hpp"
#include "incontext/training/learned_map.hpp"
#include "incontext/training/sequence_examples.hpp"
#include "incontext/training/sequence_layout.hpp"

namespace incontext::training {

/// Loss, accuracy and gradient of a sequence transformer. The loss is the mean over sequences of the weighted sum of
/// their tokens' losses; the accuracy is the weighted share of tokens whose likeliest class is the target (NaN for
/// squared errors).
///
/// Shapes    gradient: as the parameters.
/// Units     squared units of the targets, or nats.
template <Real T>
struct SequenceGradient {
  using Wide = typename detail::SequenceSums<T>::Wide;
  Wide loss = 0, loss_standard_error = 0, accuracy = 0;
  std::vector<T> gradient;
};

/// A causal transformer over sequences of tokens, with one map per head. It does not hold its parameters: every call
/// gets them.
///
/// \f[ x_t = E f_t,\qquad u_t = x_t + W_O \Bigl( \textstyle\sum_{j \le t} a_{h,j} (W_V z_j)_h \Bigr)_h,\quad
///     a_h = \mathrm{map}_h\bigl( ((W_K z_j)_h \cdot (W_Q z_t)_h)_{j \le t} \bigr),\quad z = \mathrm{LN}_1(x) \f]
/// \f[ x \leftarrow u + W_2\, (W_1 \mathrm{LN}_2(u) + b_1)_+ + b_2,\qquad y_t = H\, \mathrm{LN}_f(x_t) + b \f]
///
/// The first two lines are one layer; hidden = 0 leaves the second out, and LayerNorms::none every LN. Maps read the
/// raw scores, so that the temperature belongs to the map: Softmax{sqrt(head width)} is the usual head. There are no
/// embeddings of positions: a token knows its place from its features and from the causal mask alone.
///
///     using Map = training::LearnedMap<scoring::Softmax<double>>;
///     const training::SequenceShape shape{.features = 3, .width = 8, .heads = 2};
///     const training::SequenceTransformer<Map> model(shape, Map{{2}});
///     training::SequenceExamples<double> examples;
///     examples.resize(shape, 4, 10);  // 4 sequences of 10 tokens, to be filled
///     const std::vector<double> parameters(static_cast<std::size_t>(model.layout().size()), 0.1);
///     const auto at = model.gradient(parameters, training::SequenceLoss::squared_error, examples);
///
/// Source    Vaswani et al. 2017 with the norms first, as in GPT-2, which arXiv 2508.14685 trains. Gradients:
///           docs/theory/training.md#sequence-transformer.
/// Shapes    parameters: layout().size()
/// Errors    std::invalid_argument for sizes; NaN where parameters are not finite or a map's derivative is undefined.
/// Accuracy  1e-24 of each part's largest entry in 50 digits, against differences: tests/training.
template <TrainableMap Map>
class SequenceTransformer {
 public:
  using T = typename Map::value_type;
  using Sums = detail::SequenceSums<T>;
  /// Working memory of a pass, for one thread at a time. Any call may use the memory of an earlier one of other sizes.
  using Memory = detail::SequenceMemory<T>;

  /// The same map for every head, or one map per head. shape.map_parameters is set to the most that a head's map has.
  SequenceTransformer(const SequenceShape& shape, const Map& map)
      : SequenceTransformer(shape, std::vector<Map>(static_cast<std::size_t>((std::max)(shape.heads, 0)), map)) {}
  SequenceTransformer(const SequenceShape& shape, std::vector<Map> maps)
      : layout_(with_map_parameters(shape, maps)), maps_(std::move(maps)) {
    require_same_size("training::SequenceTransformer", "maps", std::ssize(maps_), std::ptrdiff_t{shape.heads});
  }

  [[nodiscard]] const SequenceLayout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<Map>& maps() const { return maps_; }

  /// The outputs of every token.
  ///
  /// Shapes    (parameters, examples: features alone) -> outputs x tokens
  [[nodiscard]] Matrix<T> outputs(std::span<const T> parameters, const SequenceExamples<T>& examples) const {
    Memory memory;
    return outputs(parameters, examples, memory);
  }

  /// The outputs of every token, computed in `memory`. The reference is valid until the next call with that memory.
  ///
  /// Shapes    (parameters, examples: features alone) -> outputs x tokens
  [[nodiscard]] const Matrix<T>& outputs(std::span<const T> parameters, const SequenceExamples<T>& examples,
                                         Memory& memory) const {
    require_fit(parameters, examples);
    const auto maps = head_maps();
    return detail::SequencePass<T>(layout_, maps, parameters.data(), examples, memory).forward();
  }

  /// Replaces `sums` with the sums over a block of sequences, computed in `memory`. Nothing is checked.
  void sum(std::span<const T> parameters, SequenceLoss loss, const SequenceExamples<T>& examples, Sums& sums,
           Memory& memory) const {
    sums.start(static_cast<std::size_t>(layout_.size()));
    const auto maps = head_maps();
    detail::SequencePass<T> pass(layout_, maps, parameters.data(), examples, memory);
    pass.forward();
    pass.add_loss(loss, sums);
    pass.backward(sums.gradient.data());
  }

  /// Means over `sequences` sequences.
  [[nodiscard]] SequenceGradient<T> means(SequenceLoss loss, Sums sums, std::ptrdiff_t sequences) const {
    using Wide = typename Sums::Wide;
    const auto count = static_cast<Wide>(sequences);
    SequenceGradient<T> means{.loss = sums.loss / count, .gradient = std::move(sums.gradient)};
    means.loss_standard_error = std::sqrt(sums.losses.sum_of_squares) / static_cast<double>(sequences);
    means.accuracy = loss == SequenceLoss::cross_entropy ? Wide(sums.hits / sums.weight) : math::not_a_number<Wide>();
    for (T& number : means.gradient) number /= static_cast<T>(static_cast<double>(sequences));
    return means;
  }

  /// Loss, accuracy and exact gradient.
  [[nodiscard]] SequenceGradient<T> gradient(std::span<const T> parameters, SequenceLoss loss,
                                             const SequenceExamples<T>& examples) const {
    require_fit(parameters, examples);
    Sums sums;
    Memory memory;
    sum(parameters, loss, examples, sums, memory);
    return means(loss, std::move(sums), examples.sequences());
  }

 private:
  static SequenceShape with_map_parameters(SequenceShape shape, const std::vector<Map>& maps) {
    for (const Map& map : maps) shape.map_parameters = (std::max)(shape.map_parameters, int{map.parameters()});
    return shape;
  }

  [[nodiscard]] std::vector<detail::HeadMap<T>> head_maps() const { return {maps_.begin(), maps_.end()}; }

  void require_fit(std::span<const T> parameters, const SequenceExamples<T>& examples) const {
    constexpr std::string_view where = "training::SequenceTransformer";
    require_same_size(where, "parameters", std::ssize(parameters), layout_.size());
    require_examples(where, layout_.shape(), examples);
  }

  SequenceLayout layout_;
  std::vector<Map> maps_;
};

INCONTEXT_COMPILED_DECLARATION(training_sequence_transformer, class detail::SequencePass<float>);
INCONTEXT_COMPILED_DECLARATION(training_sequence_transformer, class detail::SequencePass<double>);

}  // namespace incontext::training
