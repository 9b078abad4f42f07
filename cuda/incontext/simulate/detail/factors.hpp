#pragma once

#include <Eigen/Eigenvalues>
#include <string_view>
#include <vector>

#include "incontext/regression/detail/matrix_contracts.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// Host algebra the front doors share.
namespace incontext::simulate::detail {

/// A square root C of a positive semidefinite covariance, C C^T = covariance; not triangular.
inline regression::Matrix<double> covariance_factor(std::string_view where,
                                                    const regression::Matrix<double>& covariance,
                                                    Eigen::Index dimension) {
  regression::detail::require_positive_semidefinite(where, "task_covariance", covariance, dimension);
  const Eigen::SelfAdjointEigenSolver<regression::Matrix<double>> solver(covariance);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

/// The entries of a matrix by rows, as the trials read them.
template <class T>
std::vector<T> by_rows(const regression::Matrix<double>& matrix) {
  std::vector<T> numbers;
  numbers.reserve(static_cast<std::size_t>(matrix.size()));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) numbers.push_back(static_cast<T>(matrix(i, j)));
  }
  return numbers;
}

}  // namespace incontext::simulate::detail
