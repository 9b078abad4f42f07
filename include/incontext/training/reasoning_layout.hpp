#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::training {

using regression::Matrix;

/// The sizes of a transformer of one block for the reasoning task. Each of the values 0 ... largest_value and each of
/// the four positions has an embedding. A fifth token, the class token, reads the others.
///
/// Source    arXiv 2310.12956, Section 4: one layer, four heads, values to 10, a multilayer perceptron of ratio 2; the
///           width is ours.
/// Domain    1 <= largest_value <= 1000; width >= 2, a multiple of heads; heads, hidden >= 1.
/// Runs on   host
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
/// Runs on   host
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

/// The parts of the parameters of a reasoning transformer, in the order in which they are stored. The parts up to
/// `output` act on the distinct tokens alone, the others on every example.
///
/// Runs on   host
enum class ReasoningPart {
  value_embedding,
  position_embedding,
  attention_norm_gain,
  attention_norm_shift,
  query,
  key,
  value,
  output,
  class_token,
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
inline constexpr std::array reasoning_part_names{"value_embedding",
                                                 "position_embedding",
                                                 "attention_norm_gain",
                                                 "attention_norm_shift",
                                                 "query",
                                                 "key",
                                                 "value",
                                                 "output",
                                                 "class_token",
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

/// The number of parts.
///
/// Runs on   host
inline constexpr int reasoning_parts = static_cast<int>(reasoning_part_names.size());

/// Where each part is in the one vector of parameters. Matrices map columns, x -> W x, and are stored by columns.
///
///     const training::ReasoningLayout layout({.width = 32});
///     std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
///     auto query = layout.part(parameters.data(), training::ReasoningPart::query);   // 32 x 32, in place
///
/// Shapes    embeddings: width x values and width x 4; query, key, value, output: width x width; mlp_in: hidden x
///           width; mlp_out: width x hidden; head: values x width; all others: columns.
/// Errors    as validate.
/// Runs on   host
class ReasoningLayout {
 public:
  explicit ReasoningLayout(const ReasoningShape& shape) : shape_(shape) {
    validate(shape);
    std::ptrdiff_t at = 0;
    for (int i = 0; i < reasoning_parts; ++i) {
      first_[static_cast<std::size_t>(i)] = at;
      at += rows(ReasoningPart{i}) * columns(ReasoningPart{i});
    }
    first_.back() = at;
  }

  [[nodiscard]] const ReasoningShape& shape() const { return shape_; }
  [[nodiscard]] std::ptrdiff_t size() const { return first_.back(); }
  [[nodiscard]] std::ptrdiff_t first(ReasoningPart part) const { return first_[static_cast<std::size_t>(part)]; }
  [[nodiscard]] std::ptrdiff_t size(ReasoningPart part) const {
    return first_[static_cast<std::size_t>(part) + 1] - first(part);
  }

  [[nodiscard]] Eigen::Index rows(ReasoningPart part) const {
    switch (part) {
      case ReasoningPart::mlp_in:
      case ReasoningPart::mlp_in_bias:
        return shape_.hidden;
      case ReasoningPart::head:
      case ReasoningPart::head_bias:
        return shape_.values();
      default:
        return shape_.width;
    }
  }

  [[nodiscard]] Eigen::Index columns(ReasoningPart part) const {
    switch (part) {
      case ReasoningPart::value_embedding:
        return shape_.values();
      case ReasoningPart::position_embedding:
        return ReasoningShape::positions;
      case ReasoningPart::query:
      case ReasoningPart::key:
      case ReasoningPart::value:
      case ReasoningPart::output:
      case ReasoningPart::mlp_in:
      case ReasoningPart::head:
        return shape_.width;
      case ReasoningPart::mlp_out:
        return shape_.hidden;
      default:
        return 1;
    }
  }

  /// Whether the part is a matrix, on which weight decay acts: not a gain, a shift, a bias or the class token.
  [[nodiscard]] bool is_matrix(ReasoningPart part) const { return columns(part) > 1; }
  /// Whether the part is a gain of a layer norm, which starts at 1.
  [[nodiscard]] static bool is_gain(ReasoningPart part) {
    return part == ReasoningPart::attention_norm_gain || part == ReasoningPart::mlp_norm_gain ||
           part == ReasoningPart::final_norm_gain;
  }

  /// One number per parameter, as training::Trainer takes it: whether weight decay acts.
  [[nodiscard]] std::vector<bool> decays() const {
    std::vector<bool> result;
    for (int i = 0; i < reasoning_parts; ++i) {
      result.insert(result.end(), static_cast<std::size_t>(size(ReasoningPart{i})), is_matrix(ReasoningPart{i}));
    }
    return result;
  }

  /// A part of a vector of all parameters, as a matrix in place.
  template <Real T>
  [[nodiscard]] Eigen::Map<const Matrix<T>> part(const T* parameters, ReasoningPart which) const {
    return {parameters + first(which), rows(which), columns(which)};
  }
  template <Real T>
  [[nodiscard]] Eigen::Map<Matrix<T>> part(T* parameters, ReasoningPart which) const {
    return {parameters + first(which), rows(which), columns(which)};
  }

 private:
  ReasoningShape shape_;
  std::array<std::ptrdiff_t, reasoning_parts + 1> first_{};
};

}  // namespace incontext::training
