#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::training {

using regression::Matrix;

/// Whether a transformer normalizes what its layers and its head read.
///
/// Runs on   host
enum class LayerNorms { none, first };

/// The sizes of a sequence transformer.
///
/// Domain    features, outputs, heads >= 1; width >= 1, a multiple of heads; layers from 1 to 8; hidden >= 0.
/// Runs on   host
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
/// Runs on   host
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

/// The parts of the parameters of a sequence transformer. Every layer has its own parts attention_norm_gain to
/// mlp_out_bias.
///
/// Runs on   host
enum class SequencePart {
  embedding,
  attention_norm_gain,
  attention_norm_shift,
  query,
  key,
  value,
  output,
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
///
/// Runs on   host
inline constexpr std::array sequence_part_names{"embedding",
                                                "attention_norm_gain",
                                                "attention_norm_shift",
                                                "query",
                                                "key",
                                                "value",
                                                "output",
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

/// Where each part is in the one vector of parameters. Matrices map columns, x -> W x, and are stored by columns. A
/// part that a shape does not have has no columns.
///
///     const training::SequenceLayout layout({.features = 3, .width = 16, .layers = 2});
///     std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
///     auto query = layout.part(parameters.data(), training::SequencePart::query, 1);   // 16 x 16, in place
///
/// Shapes    embedding: width x features; query, key, value, output: width x width; map: map_parameters x heads;
///           mlp_in: hidden x width; mlp_out: width x hidden; head: outputs x width; all others: columns.
/// Errors    as validate.
/// Runs on   host
class SequenceLayout {
 public:
  explicit SequenceLayout(const SequenceShape& shape) : shape_(shape) {
    validate(shape);
    add(SequencePart::embedding, 0);
    for (int layer = 0; layer < shape.layers; ++layer) {
      for (int i = static_cast<int>(SequencePart::attention_norm_gain);
           i <= static_cast<int>(SequencePart::mlp_out_bias); ++i) {
        add(SequencePart{i}, layer);
      }
    }
    for (int i = static_cast<int>(SequencePart::final_norm_gain); i <= static_cast<int>(SequencePart::head_bias); ++i) {
      add(SequencePart{i}, 0);
    }
  }

  /// A part of one layer, in the order in which they are stored.
  struct Place {
    SequencePart part;
    int layer;
    std::ptrdiff_t first, size;
  };

  [[nodiscard]] const SequenceShape& shape() const { return shape_; }
  [[nodiscard]] std::ptrdiff_t size() const { return places_.back().first + places_.back().size; }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

  [[nodiscard]] Eigen::Index rows(SequencePart part) const {
    switch (part) {
      case SequencePart::mlp_in:
      case SequencePart::mlp_in_bias:
        return shape_.hidden;
      case SequencePart::head:
      case SequencePart::head_bias:
        return shape_.outputs;
      case SequencePart::map:
        return shape_.map_parameters;
      default:
        return shape_.width;
    }
  }

  [[nodiscard]] Eigen::Index columns(SequencePart part) const {
    const bool has_norms = shape_.norms == LayerNorms::first, has_mlp = shape_.hidden > 0;
    switch (part) {
      case SequencePart::embedding:
        return shape_.features;
      case SequencePart::map:
        return shape_.heads;
      case SequencePart::query:
      case SequencePart::key:
      case SequencePart::value:
      case SequencePart::output:
      case SequencePart::mlp_in:
      case SequencePart::head:
        return shape_.width;
      case SequencePart::mlp_out:
        return shape_.hidden;
      case SequencePart::mlp_norm_gain:
      case SequencePart::mlp_norm_shift:
        return has_norms && has_mlp ? 1 : 0;
      case SequencePart::mlp_out_bias:
        return has_mlp ? 1 : 0;
      case SequencePart::mlp_in_bias:
      case SequencePart::head_bias:
        return 1;
      default:
        return has_norms ? 1 : 0;
    }
  }

  /// Whether the part is a matrix, on which weight decay acts: not a gain, a shift, a bias or a map's parameters.
  [[nodiscard]] static bool is_matrix(SequencePart part) {
    switch (part) {
      case SequencePart::embedding:
      case SequencePart::query:
      case SequencePart::key:
      case SequencePart::value:
      case SequencePart::output:
      case SequencePart::mlp_in:
      case SequencePart::mlp_out:
      case SequencePart::head:
        return true;
      default:
        return false;
    }
  }
  /// Whether the part is a gain of a layer norm, which starts at 1.
  [[nodiscard]] static bool is_gain(SequencePart part) {
    return part == SequencePart::attention_norm_gain || part == SequencePart::mlp_norm_gain ||
           part == SequencePart::final_norm_gain;
  }

  /// One number per parameter, as training::Trainer takes it: whether weight decay acts.
  [[nodiscard]] std::vector<bool> decays() const {
    std::vector<bool> result;
    for (const Place& at : places_) result.insert(result.end(), static_cast<std::size_t>(at.size), is_matrix(at.part));
    return result;
  }

  /// A part of a vector of all parameters, as a matrix in place.
  template <Real T>
  [[nodiscard]] Eigen::Map<const Matrix<T>> part(const T* parameters, SequencePart which, int layer = 0) const {
    return {parameters + first(which, layer), rows(which), columns(which)};
  }
  template <Real T>
  [[nodiscard]] Eigen::Map<Matrix<T>> part(T* parameters, SequencePart which, int layer = 0) const {
    return {parameters + first(which, layer), rows(which), columns(which)};
  }

 private:
  static constexpr int per_layer =
      static_cast<int>(SequencePart::mlp_out_bias) - static_cast<int>(SequencePart::embedding);

  void add(SequencePart part, int layer) {
    places_.push_back({part, layer, places_.empty() ? 0 : size(), rows(part) * columns(part)});
  }

  [[nodiscard]] std::ptrdiff_t first(SequencePart part, int layer) const {
    const int place = static_cast<int>(part);
    const int layers_before = place > per_layer ? shape_.layers - 1 : place == 0 ? 0 : layer;
    return places_[static_cast<std::size_t>(place) + std::size_t{per_layer} * static_cast<std::size_t>(layers_before)]
        .first;
  }

  SequenceShape shape_;
  std::vector<Place> places_;
};

}  // namespace incontext::training
