#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The checks that public functions make of vectors and matrices. Every message names the parameter and the entry or
/// eigenvalue.
namespace incontext::regression {

/// Accepts a matrix of this shape.
///
/// Errors    std::invalid_argument for another shape.
template <class Derived>
void require_shape(std::string_view where, std::string_view parameter, const Eigen::MatrixBase<Derived>& matrix,
                   Eigen::Index rows, Eigen::Index columns);

/// Accepts a matrix whose entries are all finite; NaN is refused.
///
/// Errors    std::domain_error that names the entry.
template <class Derived>
void require_finite_entries(std::string_view where, std::string_view parameter,
                            const Eigen::MatrixBase<Derived>& matrix);

/// Accepts a covariance as far as symmetry can decide: dimension x dimension, finite, and symmetric up to the rounding
/// of a product X^T X. Its eigenvalues are not examined.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for entries.
template <Real T>
void require_covariance(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                        Eigen::Index dimension);

/// Accepts a symmetric matrix that has a Cholesky factor.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for values.
template <Real T>
void require_positive_definite(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                               Eigen::Index dimension);

/// Accepts a diagonal plus low rank of rows x rows, whose factors are rows x rank.
///
/// Errors    std::invalid_argument for another shape; the factors are named .left() and .right().
template <Real T>
void require_shape(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix,
                   Eigen::Index rows, Eigen::Index);

/// Accepts a diagonal plus low rank whose parts are all finite; NaN is refused.
///
/// Errors    std::domain_error that names the entry of the part.
template <Real T>
void require_finite_entries(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix);

/// Accepts a diagonal matrix of positive entries.
///
/// Errors    std::invalid_argument for the shape and for a part of low rank, std::domain_error for values.
template <Real T>
void require_positive_definite(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix,
                               Eigen::Index dimension);

/// Accepts a symmetric matrix with no eigenvalue below -64 d eps times the largest variance: a singular covariance
/// passes.
///
/// Errors    std::invalid_argument for the shape, std::domain_error for values.
template <Real T>
void require_positive_semidefinite(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                                   Eigen::Index dimension);

/// Accepts the number of examples of a context: at least two.
///
/// Errors    std::invalid_argument for context_length < 2.
inline void require_context_length(std::string_view where, std::int64_t context_length) {
  require_at_least(where, "context_length", context_length, std::int64_t{2});
}

// What the checks of matrices share: texts for messages, symmetry, and eigenvalues.
namespace detail {

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
  return numerics::Cholesky<T>(matrix).exists();
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

}  // namespace detail

template <class Derived>
void require_shape(std::string_view where, std::string_view parameter, const Eigen::MatrixBase<Derived>& matrix,
                   Eigen::Index rows, Eigen::Index columns) {
  if (matrix.rows() != rows || matrix.cols() != columns) {
    throw_invalid_argument(where, std::string(parameter) + " has the wrong shape",
                           detail::shape(matrix.rows(), matrix.cols()), detail::shape(rows, columns));
  }
}

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

template <Real T>
void require_covariance(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                        Eigen::Index dimension) {
  require_shape(where, parameter, matrix, dimension, dimension);
  require_finite_entries(where, parameter, matrix);
  detail::require_symmetric(where, parameter, matrix);
}

template <Real T>
void require_positive_definite(std::string_view where, std::string_view parameter, const Matrix<T>& matrix,
                               Eigen::Index dimension) {
  require_covariance(where, parameter, matrix, dimension);
  if (!detail::has_cholesky_factor(matrix)) {
    throw_domain_error(where, std::string(parameter) + " is not positive definite: smallest eigenvalue",
                       detail::smallest_eigenvalue(matrix), "a symmetric positive definite matrix");
  }
}

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

template <Real T>
void require_shape(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix,
                   Eigen::Index rows, Eigen::Index) {
  require_shape(where, parameter, matrix.entries(), rows, 1);
  require_shape(where, std::string(parameter) + ".left()", matrix.left(), rows, matrix.rank());
  require_shape(where, std::string(parameter) + ".right()", matrix.right(), rows, matrix.rank());
}

template <Real T>
void require_finite_entries(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix) {
  require_finite_entries(where, parameter, matrix.entries());
  require_finite_entries(where, std::string(parameter) + ".left()", matrix.left());
  require_finite_entries(where, std::string(parameter) + ".right()", matrix.right());
}

template <Real T>
void require_positive_definite(std::string_view where, std::string_view parameter, const DiagonalPlusLowRank<T>& matrix,
                               Eigen::Index dimension) {
  require_shape(where, parameter, matrix, dimension, dimension);
  numerics::require_diagonal(where, parameter, matrix);
  require_finite_entries(where, parameter, matrix);
  for (Eigen::Index i = 0; i < dimension; ++i) {
    require_positive(where, detail::entry(parameter, i, i), matrix.entries()(i));
  }
}

INCONTEXT_COMPILED(regression_matrix_contracts, require_covariance<double>);
INCONTEXT_COMPILED_DECLARATION(regression_matrix_contracts,
                               void require_positive_definite(std::string_view, std::string_view, const Matrix<double>&,
                                                              Eigen::Index));
INCONTEXT_COMPILED_DECLARATION(regression_matrix_contracts,
                               void require_positive_definite(std::string_view, std::string_view,
                                                              const DiagonalPlusLowRank<double>&, Eigen::Index));
INCONTEXT_COMPILED_DECLARATION(regression_matrix_contracts,
                               void require_shape(std::string_view, std::string_view,
                                                  const DiagonalPlusLowRank<double>&, Eigen::Index, Eigen::Index));
INCONTEXT_COMPILED_DECLARATION(regression_matrix_contracts,
                               void require_finite_entries(std::string_view, std::string_view,
                                                           const DiagonalPlusLowRank<double>&));
INCONTEXT_COMPILED(regression_matrix_contracts, require_positive_semidefinite<double>);

}  // namespace incontext::regression
