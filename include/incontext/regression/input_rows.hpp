#pragma once

#include <cstdint>
#include <utility>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::regression {

/// The law of an input drawn uniformly from the rows of a data set, with the moments the exact errors need.
///
/// \f[ \mu = \tfrac1n\sum_i x_i,\quad z_i = x_i - \mu,\quad \Sigma = \tfrac1n\sum_i z_i z_i^T,\quad
///     F(B) = \tfrac1n\sum_i (z_i^T B z_i) z_i z_i^T,\quad t(B) = \tfrac1n\sum_i (z_i^T B z_i) z_i \f]
///
/// No array of d^3 or d^4 numbers is formed: F(B) and t(B) cost O(n d^2).
///
/// Source    derived: docs/theory/regression.md#any-inputs.
/// Shapes    (rows: n x d) -> mean: d; covariance, F(B): d x d; t(B): d
/// Units     the columns' own.
/// Domain    n >= 2, d >= 1, finite; the covariance may be singular.
/// Errors    std::invalid_argument for fewer rows or columns; std::domain_error naming the entry that is not finite.
/// Accuracy  two-pass mean; n eps of the sums of absolute terms (tests/regression/input_rows.cpp).
template <Real T>
class InputRows {
 public:
  explicit InputRows(Matrix<T> rows);

  std::int64_t count() const { return centered_.rows(); }
  std::int64_t dimension() const { return centered_.cols(); }
  const Vector<T>& mean() const { return mean_; }
  const Matrix<T>& covariance() const { return covariance_; }
  /// The rows less their mean, n x d.
  const Matrix<T>& centered() const { return centered_; }

  /// F(B) = E[(z^T B z) z z^T] for a symmetric B.
  Matrix<T> fourth_moment(const Matrix<T>& b) const { return weighted_square(quadratic_form(b)); }

  /// t(B) = E[(z^T B z) z] for a symmetric B.
  Vector<T> third_moment(const Matrix<T>& b) const;

 private:
  Vector<T> column_means() const;
  Vector<T> quadratic_form(const Matrix<T>& b) const;
  Matrix<T> weighted_square(const Vector<T>& weights) const;

  Matrix<T> centered_;
  Vector<T> mean_;
  Matrix<T> covariance_;
};

// A member that is defined in its class is inline, and callers would compile it in spite of the compiled edition.
template <Real T>
InputRows<T>::InputRows(Matrix<T> rows) : centered_(std::move(rows)) {
  require_at_least("InputRows", "rows.rows()", centered_.rows(), Eigen::Index{2});
  require_at_least("InputRows", "rows.cols()", centered_.cols(), Eigen::Index{1});
  require_finite_entries("InputRows", "rows", centered_);
  mean_ = column_means();
  centered_.rowwise() -= mean_.transpose();
  // The second pass subtracts what rounding left in the first, so that a mean far from 0 costs no digits.
  const Vector<T> left = column_means();
  mean_ += left;
  centered_.rowwise() -= left.transpose();
  covariance_ = weighted_square(Vector<T>::Ones(count()));
}

template <Real T>
Vector<T> InputRows<T>::third_moment(const Matrix<T>& b) const {
  return centered_.transpose() * quadratic_form(b) / math::from_count<T>(count());
}

template <Real T>
Vector<T> InputRows<T>::column_means() const {
  return centered_.colwise().sum().transpose() / math::from_count<T>(count());
}

template <Real T>
Vector<T> InputRows<T>::quadratic_form(const Matrix<T>& b) const {
  return (centered_ * b).cwiseProduct(centered_).rowwise().sum();
}

template <Real T>
Matrix<T> InputRows<T>::weighted_square(const Vector<T>& weights) const {
  const Matrix<T> product = centered_.transpose() * (weights.asDiagonal() * centered_);
  return (product + product.transpose()) / (T(2.0) * math::from_count<T>(count()));  // symmetric to the last bit
}

INCONTEXT_COMPILED_DECLARATION(regression_input_rows, class InputRows<double>);

}  // namespace incontext::regression
