#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/simulate/engine/rounding.hpp"

/// Matrix algebra on the host that the simulators share.
namespace incontext::simulate::detail {

/// The product a b by plain loops, in which zeros of b cost nothing. The last bit of Eigen's product depends on the
/// width of the vector unit, and the numbers that trials read must not.
inline numerics::Matrix<double> plain_product(const numerics::Matrix<double>& a, const numerics::Matrix<double>& b) {
  numerics::Matrix<double> product = numerics::Matrix<double>::Zero(a.rows(), b.cols());
  for (Eigen::Index j = 0; j < b.cols(); ++j) {
    for (Eigen::Index k = 0; k < a.cols(); ++k) {
      const double factor = b(k, j);
      if (factor == 0) continue;
      for (Eigen::Index i = 0; i < a.rows(); ++i) product(i, j) += a(i, k) * factor;
    }
  }
  return product;
}

/// The lower triangular A with A A^T = covariance, by plain loops for the same reason. A pivot that is zero to the
/// rounding of its own variance leaves its column zero, so a positive semidefinite covariance has a factor too, and
/// variables may have any units.
inline numerics::Matrix<double> plain_cholesky(const numerics::Matrix<double>& covariance) {
  const Eigen::Index d = covariance.rows();
  const double rounding = 1e-14 * static_cast<double>(d);
  numerics::Matrix<double> factor = numerics::Matrix<double>::Zero(d, d);
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index i = j; i < d; ++i) factor(i, j) = covariance(i, j);
    for (Eigen::Index k = 0; k < j; ++k) {
      const double along = factor(j, k);
      if (along == 0) continue;
      for (Eigen::Index i = j; i < d; ++i) factor(i, j) -= factor(i, k) * along;
    }
    const double rest = factor(j, j);
    factor(j, j) = rest > rounding * covariance(j, j) ? std::sqrt(rest) : 0.0;
    for (Eigen::Index i = j + 1; i < d; ++i) factor(i, j) = factor(j, j) > 0 ? factor(i, j) / factor(j, j) : 0.0;
  }
  return factor;
}

/// The mean of the rows, by plain loops.
inline numerics::Vector<double> plain_mean(const numerics::Matrix<double>& rows) {
  const numerics::Matrix<double> ones = numerics::Matrix<double>::Ones(1, rows.rows());
  return plain_product(ones, rows).transpose() / static_cast<double>(rows.rows());
}

/// The entries of a matrix by rows, as the trials read them.
template <class T>
std::vector<T> by_rows(const numerics::Matrix<double>& matrix) {
  std::vector<T> numbers;
  numbers.reserve(static_cast<std::size_t>(matrix.size()));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) numbers.push_back(static_cast<T>(matrix(i, j)));
  }
  return numbers;
}

/// The entries of a matrix by rows, refused if the largest is outside the range of T.
template <class T>
std::vector<T> held_by_rows(std::string_view where, std::string_view parameter,
                            const numerics::Matrix<double>& matrix) {
  const double largest = matrix.size() > 0 ? matrix.cwiseAbs().maxCoeff() : 0;
  require_holds<T>(where, parameter, largest, largest);
  return by_rows<T>(matrix);
}

}  // namespace incontext::simulate::detail
