#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/detail/matrix_checks.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The checks that public functions make of vectors and matrices. Every message names the parameter and the entry or
/// eigenvalue.
namespace incontext::regression {

/// Accepts a matrix of this shape.
///
/// Errors    std::invalid_argument for another shape.
template <class Derived>
void require_shape(std::string_view where, std::string_view parameter, const Eigen::MatrixBase<Derived>& matrix,
                   Eigen::Index rows, Eigen::Index columns) {
  if (matrix.rows() != rows || matrix.cols() != columns) {
    throw_invalid_argument(where, std::string(parameter) + " has the wrong shape",
                           detail::shape(matrix.rows(), matrix.cols()), detail::shape(rows, columns));
  }
}

/// Accepts a matrix whose entries are all finite; NaN is refused.
///
/// Errors    std::domain_error that names the entry.
template <class Derived>
void require_finite_entries(std::string_view where, std::string_view parameter,
                            const Eigen::MatrixBase<Derived>& matrix) {
  using T = typename Derived::Scalar;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      const T value = matrix(row, column);
      if (!(value - value <= T(0.0))) {  // infinity - infinity and NaN are NaN
        throw_domain_error(where, detail::entry(parameter, row, column) + " is not finite", value, "a finite number");
      }
    }
  }
}

/// Accepts a covariance as far as symmetry can decide: dimension x dimension, finite, and symmetric up to the rounding
/// of a product X^T X. Its eigenvalues are not examined.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for entries.
template <Real T>
void require_covariance(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                        Eigen::Index dimension) {
  require_shape(where, parameter, matrix, dimension, dimension);
  require_finite_entries(where, parameter, matrix);
  detail::require_symmetric(where, parameter, matrix);
}

/// Accepts a symmetric matrix that has a Cholesky factor.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for values.
template <Real T>
void require_positive_definite(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                               Eigen::Index dimension) {
  require_covariance(where, parameter, matrix, dimension);
  if (!detail::has_cholesky_factor(matrix)) {
    throw_domain_error(where, std::string(parameter) + " is not positive definite: smallest eigenvalue",
                       detail::smallest_eigenvalue(matrix), "a symmetric positive definite matrix");
  }
}

/// Accepts a symmetric matrix with no eigenvalue below -64 d eps times the largest variance: a singular covariance
/// passes.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for values.
template <Real T>
void require_positive_semidefinite(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                                   Eigen::Index dimension) {
  require_covariance(where, parameter, matrix, dimension);
  if (!(matrix.cwiseAbs().maxCoeff() > T(0.0))) return;
  const T rounding =
      T(64.0) * math::from_count<T>(dimension) * Eigen::NumTraits<T>::epsilon() * matrix.diagonal().maxCoeff();
  if (!detail::has_cholesky_factor<T>(matrix + rounding * Matrix<T>::Identity(dimension, dimension))) {
    throw_domain_error(where, std::string(parameter) + " is not positive semidefinite: smallest eigenvalue",
                       detail::smallest_eigenvalue(matrix), "a symmetric positive semidefinite matrix");
  }
}

/// Accepts the number of examples of a context: at least two.
///
/// Errors    std::invalid_argument for context_length < 2.
inline void require_context_length(std::string_view where, std::int64_t context_length) {
  require_at_least(where, "context_length", context_length, std::int64_t{2});
}

}  // namespace incontext::regression
