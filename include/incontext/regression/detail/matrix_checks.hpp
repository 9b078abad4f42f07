#pragma once

#include <Eigen/Cholesky>
#include <cmath>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// What the checks of matrices share: texts for messages, symmetry, and eigenvalues.
namespace incontext::regression::detail {

inline std::string entry(std::string_view parameter, Eigen::Index row, Eigen::Index column) {
  return std::string(parameter) + "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

inline std::string shape(Eigen::Index rows, Eigen::Index columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

/// Accepts a matrix that is symmetric up to the rounding of a product X^T X: 64 eps of the geometric mean of the two
/// diagonal entries.
template <Real T>
void require_symmetric(std::string_view where, std::string_view parameter, const Matrix<T>& matrix) {
  using std::abs;
  using std::sqrt;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < column; ++row) {
      const T difference = abs(T(matrix(row, column) - matrix(column, row)));
      const T scale = sqrt(T(abs(matrix(row, row)))) * sqrt(T(abs(matrix(column, column))));
      const T tolerance = T(64.0) * Eigen::NumTraits<T>::epsilon() * scale;
      if (!(difference <= tolerance)) {
        throw_domain_error(where,
                           entry(parameter, row, column) + " and " + entry(parameter, column, row) +
                               " differ: a covariance is symmetric",
                           difference, "a difference of 0");
      }
    }
  }
}

template <Real T>
bool has_cholesky_factor(const Matrix<T>& matrix) {
  return Eigen::LLT<Matrix<T>>(matrix).info() == Eigen::Success;
}

/// The smallest eigenvalue, for messages: the largest t for which matrix - t I has a Cholesky factor, by bisection from
/// Gershgorin's bound. (Eigen's eigenvalue solver would cost every user of this header five seconds of compilation.)
template <Real T>
float smallest_eigenvalue(const Matrix<T>& matrix) {
  const Matrix<T> identity = Matrix<T>::Identity(matrix.rows(), matrix.cols());
  T low = -matrix.cwiseAbs().rowwise().sum().maxCoeff();
  T high = matrix.diagonal().minCoeff();
  for (int step = 0; step < 60; ++step) {
    const T middle = (low + high) / T(2.0);
    (has_cholesky_factor<T>(matrix - middle * identity) ? low : high) = middle;
  }
  return static_cast<float>(high);
}

}  // namespace incontext::regression::detail
