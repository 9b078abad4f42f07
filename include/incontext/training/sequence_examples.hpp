#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/training/sequence_layout.hpp"

namespace incontext::training {

/// What an output is compared with: a number, or the probabilities of classes.
enum class SequenceLoss { squared_error, cross_entropy };

/// Sequences of one length, side by side: token t of sequence s is column s * length + t.
///
/// Shapes    features: features x tokens; targets: outputs x tokens; weights: one number per token, the factor on its
///           loss.
template <Real T>
struct SequenceExamples {
  Eigen::Index length = 1;
  Matrix<T> features, targets;
  numerics::Vector<T> weights;

  /// Zeros of the right sizes.
  void resize(const SequenceShape& shape, Eigen::Index sequences, Eigen::Index tokens) {
    length = tokens;
    features.setZero(shape.features, sequences * tokens);
    targets.setZero(shape.outputs, sequences * tokens);
    weights.setZero(sequences * tokens);
  }
  [[nodiscard]] Eigen::Index sequences() const { return features.cols() / length; }
};

/// Refuses examples of other sizes than a transformer's.
///
/// Errors    std::invalid_argument that names what does not fit.
template <Real T>
void require_examples(std::string_view where, const SequenceShape& shape, const SequenceExamples<T>& examples) {
  const std::ptrdiff_t tokens = examples.features.cols();
  require_at_least(where, "length", std::ptrdiff_t{examples.length}, std::ptrdiff_t{1});
  require_at_least(where, "number of tokens", tokens, std::ptrdiff_t{1});
  if (tokens % examples.length != 0) {
    throw_invalid_argument(where, "number of tokens is not a multiple of the length", tokens, "whole sequences");
  }
  require_same_size(where, "features", std::ptrdiff_t{examples.features.rows()}, std::ptrdiff_t{shape.features});
  require_same_size(where, "targets", std::ptrdiff_t{examples.targets.rows()}, std::ptrdiff_t{shape.outputs});
  require_same_size(where, "targets' tokens", std::ptrdiff_t{examples.targets.cols()}, tokens);
  require_same_size(where, "weights", std::ptrdiff_t{examples.weights.size()}, tokens);
}

INCONTEXT_COMPILED(training_sequence_examples, require_examples<double>);

}  // namespace incontext::training
