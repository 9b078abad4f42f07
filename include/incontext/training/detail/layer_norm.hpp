#pragma once

#include <Eigen/Core>
#include <cmath>

#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::training::detail {

using numerics::Matrix;
using numerics::Vector;

/// What is added to the variance, as in PyTorch.
inline constexpr double layer_norm_epsilon = 1e-5;

/// Layer norm of every column, and what its derivative needs. A gain without columns stands for no norm: y = x.
///
/// \f[ h = \frac{x - \bar x}{\sqrt{\mathrm{var}(x) + \epsilon}},\qquad y = \gamma \odot h + \beta \f]
///
/// Shapes    columns: width x n; gain, shift: width
template <Real T>
struct LayerNorm {
  Matrix<T> normalized;
  Vector<T> inverse_deviation;

  template <class Parameters>
  void apply(const Matrix<T>& columns, const Parameters& gain, const Parameters& shift, Matrix<T>& out) {
    using std::sqrt;
    if (gain.cols() == 0) {
      out = columns;
      return;
    }
    const auto width = static_cast<T>(columns.rows());
    normalized.resize(columns.rows(), columns.cols());
    inverse_deviation.resize(columns.cols());
    out.resize(columns.rows(), columns.cols());
    for (Eigen::Index j = 0; j < columns.cols(); ++j) {
      const T mean = columns.col(j).sum() / width;
      normalized.col(j).array() = columns.col(j).array() - mean;
      const T variance = normalized.col(j).squaredNorm() / width;
      inverse_deviation[j] = T(1) / sqrt(variance + static_cast<T>(layer_norm_epsilon));
      normalized.col(j) *= inverse_deviation[j];
      out.col(j).array() = normalized.col(j).array() * gain.col(0).array() + shift.col(0).array();
    }
  }

  /// Adds the gradients by gain and shift, and replaces the gradient by the output with the gradient by the input:
  ///
  /// \f[ \frac{\partial L}{\partial x} = \frac{1}{\sigma} \Bigl( u - \bar u - h\, \overline{h \odot u} \Bigr),\qquad
  ///     u = \gamma \odot \frac{\partial L}{\partial y} \f]
  template <class Parameters, class Gradients>
  void pull_back(const Parameters& gain, Gradients&& gain_gradient, Gradients&& shift_gradient,
                 Matrix<T>& gradient) const {
    if (gain.cols() == 0) return;
    const auto width = static_cast<T>(gradient.rows());
    for (Eigen::Index j = 0; j < gradient.cols(); ++j) {
      auto u = gradient.col(j);
      const auto h = normalized.col(j);
      gain_gradient.col(0).array() += u.array() * h.array();
      shift_gradient.col(0) += u;
      u.array() *= gain.col(0).array();
      const T mean = u.sum() / width, along = u.dot(h) / width;
      u.array() = inverse_deviation[j] * (u.array() - mean - along * h.array());
    }
  }
};

}  // namespace incontext::training::detail
