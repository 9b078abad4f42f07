#pragma once

#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/training/transformer_parts.hpp"

namespace incontext::training {

/// The sizes of a transformer of one block for the reasoning task. Each of the values 0 ... largest_value and each of
/// the four positions has an embedding. A fifth token, the class token, reads the others.
///
/// Source    arXiv 2310.12956, Section 4: one layer, four heads, values to 10, a multilayer perceptron of ratio 2; the
///           width is ours.
/// Domain    1 <= largest_value <= 1000; width >= 2, a multiple of heads; heads, hidden >= 1.
struct ReasoningShape {
  int largest_value = 10;
  int width = 64;
  int heads = 4;
  int hidden = 128;

  static constexpr int positions = 4;
  static constexpr int row_length = positions + 1;

  [[nodiscard]] int values() const { return largest_value + 1; }
  /// The number of distinct tokens: every value at every position, and the class token, which is the last.
  [[nodiscard]] int tokens() const { return positions * values() + 1; }
  [[nodiscard]] int head_width() const { return width / heads; }
};

/// Refuses sizes outside their domain.
///
/// Errors    std::invalid_argument that names the size.
inline void validate(const ReasoningShape& shape) {
  constexpr std::string_view where = "training::ReasoningShape";
  require_at_least(where, "largest_value", shape.largest_value, 1);
  if (shape.largest_value > 1000) {
    throw_invalid_argument(where, "largest_value is too large", shape.largest_value, "at most 1000");
  }
  require_at_least(where, "heads", shape.heads, 1);
  require_at_least(where, "hidden", shape.hidden, 1);
  require_at_least(where, "width", shape.width, 2);
  if (shape.width % shape.heads != 0) {
    throw_invalid_argument(where, "width is not a multiple of heads", shape.width, "a multiple of heads");
  }
}

/// The parts of a reasoning transformer in the one vector of its parameters. Matrices map columns, x -> W x. The class
/// token does not decay, nor do gains, shifts and biases.
///
///     const training::ReasoningLayout layout({.width = 32});
///     std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
///     auto query = layout.part(parameters.data(), training::TransformerPart::query);   // 32 x 32, in place
///
/// Shapes    embeddings: width x values and width x 4; query, key, value, output: width x width; mlp_in: hidden x
///           width; mlp_out: width x hidden; head: values x width; all others: columns.
/// Errors    as validate.
class ReasoningLayout : public TransformerLayout {
 public:
  explicit ReasoningLayout(const ReasoningShape& shape) : shape_(shape) {
    validate(shape);
    const int width = shape.width;
    add(TransformerPart::embedding, 0, width, shape.values(), PartKind::matrix);
    add(TransformerPart::position_embedding, 0, width, ReasoningShape::positions, PartKind::matrix);
    add_attention(0, width, true);
    add(TransformerPart::class_token, 0, width, 1);
    add_mlp(0, width, shape.hidden, true);
    add_read_out(width, shape.values(), true);
  }

  [[nodiscard]] const ReasoningShape& shape() const { return shape_; }

 private:
  ReasoningShape shape_;
};

}  // namespace incontext::training
