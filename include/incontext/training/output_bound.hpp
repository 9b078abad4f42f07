#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/training/sequence_layout.hpp"

namespace incontext::training {

/// The range of an output: center - radius ... center + radius.
///
/// Units     of the output.
template <Real T>
struct OutputBound {
  T center, radius;

  /// The largest size that the output can have.
  [[nodiscard]] T largest() const {
    using std::abs;
    return abs(center) + radius;
  }
};

/// The range of a sequence transformer's output, whatever the prompt: the boundary value that its last layer norm sets.
///
/// \f[ y = w \cdot (\gamma \odot h + \beta) + b,\quad \textstyle\sum_i h_i = 0,\ |h|^2 \le D
///     \;\Rightarrow\; |y - w \cdot \beta - b| \le \sqrt D\, \bigl| g - \bar g \bigr|,\quad g = w \odot \gamma \f]
///
/// D is the width, w the head's row, b its bias, and gamma and beta are the last layer norm's gain and shift. No
/// answers within [-B, B] have a smaller mean squared error than the truth clipped to that interval, so that, on the
/// affine task, clipped_affine_error at largest() is a lower bound of the error. A transformer without layer norms has
/// no such range.
///
/// Source    derived: docs/theory/training.md#output-bound; arXiv 2508.14685 calls such bounds boundary values.
/// Shapes    (layout with layer norms, parameters: layout.size(), output: 0 ... outputs - 1)
/// Units     of the output.
/// Domain    LayerNorms::first.
/// Limits    all entries of w equal and all of gamma equal: radius 0.
/// Errors    std::invalid_argument for the norms, sizes and output.
/// Accuracy  8 eps relative, and attained by a token: tests/training/output_bound.cpp.
template <Real T>
OutputBound<T> output_bound(const SequenceLayout& layout, std::span<const T> parameters, int output = 0) {
  using std::sqrt;
  constexpr std::string_view where = "training::output_bound";
  const SequenceShape& shape = layout.shape();
  if (shape.norms == LayerNorms::none) {
    throw_invalid_argument(where, "the transformer has no layer norms", 0, "LayerNorms::first");
  }
  require_same_size(where, "parameters", std::ssize(parameters), layout.size());
  require_at_least(where, "output", output, 0);
  if (output >= shape.outputs) throw_invalid_argument(where, "output is too large", output, "less than outputs");
  const auto part = [&](TransformerPart which) { return layout.part(parameters.data(), which); };
  const numerics::Vector<T> head = part(TransformerPart::head).row(output).transpose();
  numerics::Vector<T> slopes = head.cwiseProduct(part(TransformerPart::final_norm_gain).col(0));
  const auto width = static_cast<T>(static_cast<double>(shape.width));
  const T mean = slopes.sum() / width;
  slopes.array() -= mean;
  return {
      .center = head.dot(part(TransformerPart::final_norm_shift).col(0)) + part(TransformerPart::head_bias)(output, 0),
      .radius = sqrt(T(width * slopes.squaredNorm()))};
}

INCONTEXT_COMPILED(training_output_bound, output_bound<double>);

}  // namespace incontext::training
