#pragma once

#include <array>

#include "incontext/training/parameter_layout.hpp"

namespace incontext::training {

/// The parts of the parameters of a transformer. The parts attention_norm_gain to output and map to mlp_out_bias are
/// those of a block: every layer has its own.
enum class TransformerPart {
  embedding,
  position_embedding,
  attention_norm_gain,
  attention_norm_shift,
  query,
  key,
  value,
  output,
  class_token,
  map,
  mlp_norm_gain,
  mlp_norm_shift,
  mlp_in,
  mlp_in_bias,
  mlp_out,
  mlp_out_bias,
  final_norm_gain,
  final_norm_shift,
  head,
  head_bias
};

/// Every part's name, in order.
inline constexpr std::array transformer_part_names{"embedding",
                                                   "position_embedding",
                                                   "attention_norm_gain",
                                                   "attention_norm_shift",
                                                   "query",
                                                   "key",
                                                   "value",
                                                   "output",
                                                   "class_token",
                                                   "map",
                                                   "mlp_norm_gain",
                                                   "mlp_norm_shift",
                                                   "mlp_in",
                                                   "mlp_in_bias",
                                                   "mlp_out",
                                                   "mlp_out_bias",
                                                   "final_norm_gain",
                                                   "final_norm_shift",
                                                   "head",
                                                   "head_bias"};

/// Where each part of a transformer is in the one vector of its parameters. The models' own layouts, ReasoningLayout
/// and SequenceLayout, say which parts there are, and their sizes. Matrices map columns, x -> W x. Only they decay.
///
///     const training::SequenceLayout layout({.features = 3, .width = 16, .layers = 2});
///     const training::TransformerLayout::Place query = layout.place(training::TransformerPart::query, 1);
///     const std::ptrdiff_t last = query.first + query.size - 1;   // of W_Q of the second layer
///
/// Shapes    attention: query, key, value, output: width x width; MLP: mlp_in: hidden x width, mlp_out: width x
///           hidden; read-out: head: outputs x width; norms and biases: one column each; embeddings, class_token and map:
///           as the model's own layout says. Without a norm, its parts have no columns, and without hidden numbers those
///           of the MLP have none.
/// Errors    none: a part that was not added has the size 0.
class TransformerLayout : public ParameterLayout<TransformerPart> {
 protected:
  void add_norm(TransformerPart gain, TransformerPart shift, int layer, int width, bool is_there) {
    add(gain, layer, width, is_there ? 1 : 0, PartKind::gain);
    add(shift, layer, width, is_there ? 1 : 0);
  }

  void add_attention(int layer, int width, bool has_norm) {
    using enum TransformerPart;
    add_norm(attention_norm_gain, attention_norm_shift, layer, width, has_norm);
    for (const TransformerPart part : {query, key, value, output}) add(part, layer, width, width, PartKind::matrix);
  }

  void add_mlp(int layer, int width, int hidden, bool has_norm) {
    using enum TransformerPart;
    add_norm(mlp_norm_gain, mlp_norm_shift, layer, width, has_norm && hidden > 0);
    add(mlp_in, layer, hidden, width, PartKind::matrix);
    add(mlp_in_bias, layer, hidden, 1);
    add(mlp_out, layer, width, hidden, PartKind::matrix);
    add(mlp_out_bias, layer, width, hidden > 0 ? 1 : 0);
  }

  void add_read_out(int width, int outputs, bool has_norm) {
    using enum TransformerPart;
    add_norm(final_norm_gain, final_norm_shift, 0, width, has_norm);
    add(head, 0, outputs, width, PartKind::matrix);
    add(head_bias, 0, outputs, 1);
  }
};

}  // namespace incontext::training
