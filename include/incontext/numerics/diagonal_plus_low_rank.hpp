#pragma once

#include <Eigen/Core>
#include <utility>

#include "incontext/core/compiled.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::numerics {

/// A square matrix that is a diagonal and a sum of r outer products, in d (2 r + 1) numbers: \f$ D + U V^T \f$.
///
/// It takes a dense matrix's place in a formula that names sums, products, transposes, traces, plus_outer and products
/// with vectors: what a law with diagonal covariances and any means leads to. Sums and products add the ranks.
///
///     const numerics::DiagonalPlusLowRank<double> covariance(lambda.asDiagonal());
///     const auto second_moment = plus_outer(covariance, 1.0, psi, psi);
///
/// Shapes    entries of D: d; left U and right V: d x r
/// Units     the matrix's own.
/// Domain    every d and r; operands of one size, which is not checked.
/// Limits    r = 0: the diagonal matrix D.
/// Accuracy  each operation: 4 (d + r) eps of the sums of absolute values
///           (tests/numerics/diagonal_plus_low_rank.cpp).
template <Real T>
class DiagonalPlusLowRank {
 public:
  DiagonalPlusLowRank() = default;
  /// From Eigen's name for a diagonal matrix, vector.asDiagonal().
  template <class Derived>
  explicit DiagonalPlusLowRank(const Eigen::DiagonalBase<Derived>& diagonal)
      : DiagonalPlusLowRank(diagonal.diagonal(), {}, {}) {
    left_.resize(entries_.size(), 0);
    right_.resize(entries_.size(), 0);
  }
  DiagonalPlusLowRank(Vector<T> entries, Matrix<T> left, Matrix<T> right)
      : entries_(std::move(entries)), left_(std::move(left)), right_(std::move(right)) {}

  static DiagonalPlusLowRank Identity(Eigen::Index rows, Eigen::Index) {
    return DiagonalPlusLowRank(Vector<T>::Ones(rows).asDiagonal());
  }

  Eigen::Index rows() const { return entries_.size(); }
  Eigen::Index cols() const { return entries_.size(); }
  Eigen::Index rank() const { return left_.cols(); }
  const Vector<T>& entries() const { return entries_; }
  const Matrix<T>& left() const { return left_; }
  const Matrix<T>& right() const { return right_; }

  /// The matrix with all its d^2 entries.
  Matrix<T> dense() const { return Matrix<T>(entries_.asDiagonal()) + left_ * right_.transpose(); }
  /// The diagonal of the whole matrix.
  Vector<T> diagonal() const { return entries_ + left_.cwiseProduct(right_).rowwise().sum(); }
  T trace() const { return entries_.sum() + left_.cwiseProduct(right_).sum(); }
  DiagonalPlusLowRank transpose() const { return {entries_, right_, left_}; }

  DiagonalPlusLowRank operator-() const { return {-entries_, -left_, right_}; }
  DiagonalPlusLowRank& operator*=(const T& factor) {
    entries_ *= factor;
    left_ *= factor;
    return *this;
  }
  friend DiagonalPlusLowRank operator*(const T& factor, DiagonalPlusLowRank matrix) { return matrix *= factor; }
  friend DiagonalPlusLowRank operator*(DiagonalPlusLowRank matrix, const T& factor) { return matrix *= factor; }
  friend DiagonalPlusLowRank operator/(const DiagonalPlusLowRank& matrix, const T& divisor) {
    return {matrix.entries_ / divisor, matrix.left_ / divisor, matrix.right_};
  }
  friend DiagonalPlusLowRank operator+(const DiagonalPlusLowRank& a, const DiagonalPlusLowRank& b) {
    return {a.entries_ + b.entries_, beside(a.left_, b.left_), beside(a.right_, b.right_)};
  }
  friend DiagonalPlusLowRank operator-(const DiagonalPlusLowRank& a, const DiagonalPlusLowRank& b) { return a + -b; }
  friend Vector<T> operator*(const DiagonalPlusLowRank& matrix, const Vector<T>& vector) {
    return matrix.entries_.cwiseProduct(vector) + matrix.left_ * Vector<T>(matrix.right_.transpose() * vector);
  }

  /// (left, right): the columns of both.
  static Matrix<T> beside(const Matrix<T>& left, const Matrix<T>& right) {
    Matrix<T> both(left.rows(), left.cols() + right.cols());
    both << left, right;
    return both;
  }

 private:
  Vector<T> entries_;
  Matrix<T> left_, right_;
};

/// matrix + scale a b^T, which adds a column to U and to V.
template <Real T>
DiagonalPlusLowRank<T> plus_outer(const DiagonalPlusLowRank<T>& matrix, const T& scale, const Vector<T>& a,
                                  const Vector<T>& b) {
  return matrix + DiagonalPlusLowRank<T>(Vector<T>::Zero(a.size()), scale * a, b);
}

/// A B, of rank r_A + r_B, in O(d (1 + r_A) (1 + r_B)) operations.
template <Real T>
DiagonalPlusLowRank<T> product(const DiagonalPlusLowRank<T>& a, const DiagonalPlusLowRank<T>& b) {
  using Sum = DiagonalPlusLowRank<T>;
  const Matrix<T> through = a.right().transpose() * b.left();
  return {a.entries().cwiseProduct(b.entries()),
          Sum::beside(a.left(), a.entries().asDiagonal() * b.left() + a.left() * through),
          Sum::beside(b.entries().asDiagonal() * a.right(), b.right())};
}

/// tr(A B).
template <Real T>
T trace_of_product(const DiagonalPlusLowRank<T>& a, const DiagonalPlusLowRank<T>& b) {
  return product(a, b).trace();
}

/// An upper bound of the absolute values of the entries; where the rank is 0, the largest one itself.
template <Real T>
T entry_bound(const DiagonalPlusLowRank<T>& matrix) {
  T bound = matrix.entries().cwiseAbs().maxCoeff();
  for (Eigen::Index k = 0; k < matrix.rank(); ++k) {
    bound += matrix.left().col(k).cwiseAbs().maxCoeff() * matrix.right().col(k).cwiseAbs().maxCoeff();
  }
  return bound;
}

INCONTEXT_COMPILED_DECLARATION(numerics_diagonal_plus_low_rank, class DiagonalPlusLowRank<double>);
INCONTEXT_COMPILED_DECLARATION(numerics_diagonal_plus_low_rank,
                               DiagonalPlusLowRank<double> product(const DiagonalPlusLowRank<double>&,
                                                                   const DiagonalPlusLowRank<double>&));
INCONTEXT_COMPILED_DECLARATION(numerics_diagonal_plus_low_rank,
                               double trace_of_product(const DiagonalPlusLowRank<double>&,
                                                       const DiagonalPlusLowRank<double>&));
INCONTEXT_COMPILED_DECLARATION(numerics_diagonal_plus_low_rank,
                               DiagonalPlusLowRank<double> plus_outer(const DiagonalPlusLowRank<double>&, const double&,
                                                                      const Vector<double>&, const Vector<double>&));
INCONTEXT_COMPILED_DECLARATION(numerics_diagonal_plus_low_rank, double entry_bound(const DiagonalPlusLowRank<double>&));

}  // namespace incontext::numerics
