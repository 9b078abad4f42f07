#pragma once

#include <Eigen/Core>

#include "incontext/core/real.hpp"
#include "incontext/training/detail/layer_norm.hpp"
#include "incontext/training/transformer_parts.hpp"

namespace incontext::training::detail {

/// The parts of one layer, each a matrix in place: of the parameters (Number is const), or of the gradients by them. The
/// layout and the numbers must outlive it.
template <class Number>
struct LayerParts {
  const TransformerLayout& layout;
  Number* numbers;
  int layer = 0;

  [[nodiscard]] auto operator()(TransformerPart which) const { return layout.part(numbers, which, layer); }
};

/// The multilayer perceptron of a block, which reads what it adds to. Examples or tokens are columns. W_1, b_1, W_2, b_2
/// are mlp_in, mlp_in_bias, mlp_out, mlp_out_bias; they must have hidden numbers.
///
/// \f[ x \leftarrow x + W_2\, (W_1 \mathrm{LN}(x) + b_1)_+ + b_2 \f]
template <Real T>
struct Perceptron {
  LayerNorm<T> norm;
  Matrix<T> input, hidden;

  /// Matrices that backward() works in. Perceptrons of several layers can share them.
  struct Scratch {
    Matrix<T> by_hidden, by_input;
  };

  void forward(const LayerParts<const T>& part, Matrix<T>& residual) {
    using enum TransformerPart;
    norm.apply(residual, part(mlp_norm_gain), part(mlp_norm_shift), input);
    hidden.noalias() = part(mlp_in) * input;
    hidden.colwise() += part(mlp_in_bias).col(0);
    hidden = hidden.cwiseMax(T(0));
    residual.noalias() += part(mlp_out) * hidden;
    residual.colwise() += part(mlp_out_bias).col(0);
  }

  /// Adds the gradients by the parts, and turns the gradient by the result into that by x.
  void backward(const LayerParts<const T>& part, const LayerParts<T>& gradient, Matrix<T>& residual, Scratch& scratch) {
    using enum TransformerPart;
    auto& [by_hidden, by_input] = scratch;
    gradient(mlp_out).noalias() += residual * hidden.transpose();
    gradient(mlp_out_bias) += residual.rowwise().sum();
    by_hidden.noalias() = part(mlp_out).transpose() * residual;
    by_hidden.array() *= (hidden.array() > T(0)).template cast<T>();
    gradient(mlp_in).noalias() += by_hidden * input.transpose();
    gradient(mlp_in_bias) += by_hidden.rowwise().sum();
    by_input.noalias() = part(mlp_in).transpose() * by_hidden;
    norm.pull_back(part(mlp_norm_gain), gradient(mlp_norm_gain), gradient(mlp_norm_shift), by_input);
    residual += by_input;
  }
};

/// What a transformer says about the numbers that its last block leaves. H and b are head and head_bias, LN_f is the final
/// norm.
///
/// \f[ y = H\, \mathrm{LN}_f(x) + b \f]
template <Real T>
struct ReadOut {
  LayerNorm<T> norm;
  Matrix<T> input;

  void forward(const LayerParts<const T>& part, const Matrix<T>& residual, Matrix<T>& outputs) {
    using enum TransformerPart;
    norm.apply(residual, part(final_norm_gain), part(final_norm_shift), input);
    outputs.noalias() = part(head) * input;
    outputs.colwise() += part(head_bias).col(0);
  }

  /// Adds the gradients by the parts, and sets the gradient by x from that by y.
  void backward(const LayerParts<const T>& part, const LayerParts<T>& gradient, const Matrix<T>& by_outputs,
                Matrix<T>& residual) const {
    using enum TransformerPart;
    gradient(head).noalias() += by_outputs * input.transpose();
    gradient(head_bias) += by_outputs.rowwise().sum();
    residual.noalias() = part(head).transpose() * by_outputs;
    norm.pull_back(part(final_norm_gain), gradient(final_norm_gain), gradient(final_norm_shift), residual);
  }
};

}  // namespace incontext::training::detail
