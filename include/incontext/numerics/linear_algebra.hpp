#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <concepts>

#include "incontext/core/compiled.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/detail/dense_functions.hpp"

namespace incontext::numerics {

namespace detail {

/// Gives Eigen one thread when the program starts. Compiled with OpenMP, Eigen would divide every product of 48 rows and
/// more among threads that spin while they wait, that a fork() does not copy, and whose number can change the last digits.
/// A program that wants them for its own products calls Eigen::setNbThreads(n) in main; closed forms then use them, too.
inline const bool eigen_has_one_thread = (Eigen::setNbThreads(1), true);

#if defined(INCONTEXT_WITH_COMPILED)
// Eigen allocates as the processor's flags say. A unit whose flags give another alignment than the library was compiled
// with does not link, for want of this name.
#define INCONTEXT_PASTE(left, right) left##right
#define INCONTEXT_FOR_ALIGNMENT(name, bytes) INCONTEXT_PASTE(name, bytes)
extern const int INCONTEXT_FOR_ALIGNMENT(incontext_compiled_has_no_EIGEN_MAX_ALIGN_BYTES_of_, EIGEN_MAX_ALIGN_BYTES);
#if defined(INCONTEXT_UNIT_numerics_linear_algebra)
const int INCONTEXT_FOR_ALIGNMENT(incontext_compiled_has_no_EIGEN_MAX_ALIGN_BYTES_of_, EIGEN_MAX_ALIGN_BYTES) = 0;
#else
[[gnu::used]] static const int& alignment_of_incontext_compiled =
    INCONTEXT_FOR_ALIGNMENT(incontext_compiled_has_no_EIGEN_MAX_ALIGN_BYTES_of_, EIGEN_MAX_ALIGN_BYTES);
#endif
#endif

}  // namespace detail

/// A column of numbers of any length.
template <Real T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// A matrix of any shape; where it holds data, each row is one observation.
template <Real T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// The trace of a product of two matrices, without forming the product.
///
/// \f[ \mathrm{tr}(A B) = \sum_{ij} A_{ij} B_{ji} \f]
///
/// Shapes    (left: a x b, right: b x a) -> scalar
/// Units     the product of the two.
/// Domain    every pair of those shapes.
/// Accuracy  a b eps of the sum of |A_ij B_ji| (tests/numerics/linear_algebra.cpp).
template <Real T>
T trace_of_product(const Matrix<T>& left, const Matrix<T>& right) {
  return left.cwiseProduct(right.transpose()).sum();
}

/// Whether every entry beside the diagonal of a square matrix is 0. A matrix that is not is recognized at its first
/// such entry.
///
/// Shapes    (matrix: a x b) -> yes or no; no for a != b
/// Units     none.
/// Domain    every matrix; NaN is not 0.
/// Accuracy  exact (tests/numerics/linear_algebra.cpp).
template <Real T>
bool is_diagonal(const Matrix<T>& matrix) {
  if (matrix.rows() != matrix.cols()) return false;
  for (Eigen::Index column = 0; column < matrix.cols(); ++column) {
    for (Eigen::Index row = 0; row < matrix.rows(); ++row) {
      if (row != column && !(matrix(row, column) == T(0))) return false;
    }
  }
  return true;
}

/// The product of two matrices: A B. All products of the rooms are this one function, because Eigen compiles its matrix
/// product anew for every form of expression, at half a second each. A diagonal factor scales the other, in a c
/// operations in the place of a b c.
///
/// Shapes    (left: a x b, right: b x c) -> a x c
/// Units     the product of the two.
/// Domain    every pair of those shapes.
/// Accuracy  b eps of the products of absolute values (tests/numerics/linear_algebra.cpp).
template <Real T>
Matrix<T> product(const Matrix<T>& left, const Matrix<T>& right) {
  if (is_diagonal(left)) return left.diagonal().asDiagonal() * right;
  if (is_diagonal(right)) return left * right.diagonal().asDiagonal();
  Matrix<T> result(left.rows(), right.cols());
  if constexpr (std::same_as<T, double>) {
    const auto multiply = detail::dense_functions.product;
    if (multiply != nullptr && (std::min)({left.rows(), left.cols(), right.cols()}) >= detail::least_dense_size) {
      multiply(left.data(), right.data(), result.data(), left.rows(), left.cols(), right.cols());
      return result;
    }
  }
  result.noalias() = left * right;
  return result;
}

/// A matrix and a multiple of an outer product: A + s a b^T.
///
/// Shapes    (matrix: m x n, scale, a: m, b: n) -> m x n
/// Units     those of A.
/// Domain    every one of those shapes.
/// Accuracy  3 eps of the sum of absolute values (tests/numerics/diagonal_plus_low_rank.cpp).
template <Real T>
Matrix<T> plus_outer(const Matrix<T>& matrix, const T& scale, const Vector<T>& a, const Vector<T>& b) {
  return matrix + scale * (a * b.transpose());
}

/// The largest absolute value among the entries of a matrix.
template <Real T>
T entry_bound(const Matrix<T>& matrix) {
  return matrix.cwiseAbs().maxCoeff();
}

INCONTEXT_COMPILED(numerics_linear_algebra, trace_of_product<double>);
INCONTEXT_COMPILED(numerics_linear_algebra, is_diagonal<double>);
INCONTEXT_COMPILED(numerics_linear_algebra, product<double>);
INCONTEXT_COMPILED(numerics_linear_algebra, plus_outer<double>);
INCONTEXT_COMPILED(numerics_linear_algebra, entry_bound<double>);

}  // namespace incontext::numerics
