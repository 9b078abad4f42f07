#pragma once

#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/training/transformer_parts.hpp"

namespace incontext::training {

/// Whether a transformer normalizes what its layers and its head read.
enum class LayerNorms { none, first };

/// The sizes of a sequence transformer.
///
/// Domain    features, outputs, heads >= 1; width >= 1, a multiple of heads; layers from 1 to 8; hidden >= 0.
struct SequenceShape {
  int features = 1;  ///< numbers per token; a symbol is a one-hot token
  int outputs = 1;
  int width = 32;
  int heads = 4;
  int layers = 1;
  int hidden = 64;         ///< of the multilayer perceptron after each attention; 0: attention only
  int map_parameters = 0;  ///< how many numbers of each head's map are trained
  LayerNorms norms = LayerNorms::first;

  [[nodiscard]] int head_width() const { return width / heads; }
};

/// Refuses sizes outside their domain.
///
/// Errors    std::invalid_argument that names the size.
inline void validate(const SequenceShape& shape) {
  constexpr std::string_view where = "training::SequenceShape";
  require_at_least(where, "features", shape.features, 1);
  require_at_least(where, "outputs", shape.outputs, 1);
  require_at_least(where, "heads", shape.heads, 1);
  require_at_least(where, "width", shape.width, 1);
  require_at_least(where, "layers", shape.layers, 1);
  require_at_least(where, "hidden", shape.hidden, 0);
  require_at_least(where, "map_parameters", shape.map_parameters, 0);
  if (shape.layers > 8) throw_invalid_argument(where, "layers is too large", shape.layers, "at most 8");
  if (shape.width % shape.heads != 0) {
    throw_invalid_argument(where, "width is not a multiple of heads", shape.width, "a multiple of heads");
  }
}

/// The parts of a sequence transformer in the one vector of its parameters. Matrices map columns, x -> W x. Gains,
/// shifts, biases and the maps' own numbers do not decay. A part that a shape does not have has no columns.
///
///     const training::SequenceLayout layout({.features = 3, .width = 16, .layers = 2});
///     std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
///     auto query = layout.part(parameters.data(), training::TransformerPart::query, 1);   // 16 x 16, in place
///
/// Shapes    embedding: width x features; query, key, value, output: width x width; map: map_parameters x heads;
///           mlp_in: hidden x width; mlp_out: width x hidden; head: outputs x width; all others: columns.
/// Errors    as validate.
class SequenceLayout : public TransformerLayout {
 public:
  explicit SequenceLayout(const SequenceShape& shape) : shape_(shape) {
    validate(shape);
    const bool has_norms = shape.norms == LayerNorms::first;
    add(TransformerPart::embedding, 0, shape.width, shape.features, PartKind::matrix);
    for (int layer = 0; layer < shape.layers; ++layer) {
      add_attention(layer, shape.width, has_norms);
      add(TransformerPart::map, layer, shape.map_parameters, shape.heads);
      add_mlp(layer, shape.width, shape.hidden, has_norms);
    }
    add_read_out(shape.width, shape.outputs, has_norms);
  }

  [[nodiscard]] const SequenceShape& shape() const { return shape_; }

 private:
  SequenceShape shape_;
};

}  // namespace incontext::training
