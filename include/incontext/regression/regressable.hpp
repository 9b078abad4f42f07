#pragma once

#include <Eigen/QR>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/input_rows.hpp"

namespace incontext::regression {

/// Refuses a table of inputs on which no linear regression is determined, naming the row and column at fault.
///
/// Source    rank by Householder QR with column pivoting (Golub and Van Loan, section 5.4) of the columns, centered
///           and of unit norm.
/// Shapes    (inputs: one row per input, n x d; column_names: d, or none and columns are numbered from 0)
/// Domain    accepts n > d, finite entries, no constant column (deviations below 16 eps of its size) and no column
///           within 4 n eps of the span of others.
/// Errors    std::invalid_argument for too few rows or names; std::domain_error for values: not finite, constant,
///           collinear.
template <Real T>
void require_regressable(const Matrix<T>& inputs, std::span<const std::string> column_names = {});

namespace detail {

/// The columns of a data set, centered and divided by their norm, with a rank-revealing factorization of the result.
template <Real T>
struct StandardizedColumns {
  Vector<T> mean;
  Vector<T> norm;
  Eigen::ColPivHouseholderQR<Matrix<T>> factor;
};

inline std::string column_name(std::span<const std::string> names, Eigen::Index column) {
  if (names.empty()) return "column " + std::to_string(column) + " (counted from 0)";
  return "column '" + names[static_cast<std::size_t>(column)] + "'";
}

/// Names the columns among the first `rank` pivots of which the next column is a linear combination.
template <Real T>
std::string collinear_with(const Eigen::ColPivHouseholderQR<Matrix<T>>& factor, std::span<const std::string> names) {
  using std::abs;
  const Eigen::Index rank = factor.rank();
  const Matrix<T> r = factor.matrixR().topLeftCorner(rank, rank + 1);
  const Vector<T> weights = r.leftCols(rank).template triangularView<Eigen::Upper>().solve(r.col(rank));
  std::string list;
  for (Eigen::Index i = 0; i < rank; ++i) {
    if (!(abs(weights(i)) > T(1e-6) * weights.cwiseAbs().maxCoeff())) continue;
    list += (list.empty() ? "" : ", ") + column_name(names, factor.colsPermutation().indices()(i));
  }
  return list;
}

template <Real T>
StandardizedColumns<T> standardized_columns(std::string_view where, const Matrix<T>& inputs,
                                            std::span<const std::string> names) {
  using std::abs;
  const Eigen::Index d = inputs.cols();
  const T eps = Eigen::NumTraits<T>::epsilon();
  if (!names.empty()) {
    require_same_size(where, "column_names.size()", static_cast<std::int64_t>(names.size()), std::int64_t{d});
  }
  for (Eigen::Index column = 0; column < d; ++column) {
    for (Eigen::Index row = 0; row < inputs.rows(); ++row) {
      const T value = inputs(row, column);
      if (!(value - value <= T(0.0))) {
        throw_domain_error(where, "row " + std::to_string(row) + ", " + column_name(names, column) + " is not finite",
                           value, "a finite number");
      }
    }
  }
  require_at_least(where, "the number of rows", inputs.rows(), d + 1);

  const InputRows<T> rows(inputs);
  StandardizedColumns<T> result{rows.mean(), rows.centered().colwise().norm().transpose(), {}};
  for (Eigen::Index column = 0; column < d; ++column) {
    if (!(result.norm(column) > T(16.0) * eps * inputs.col(column).norm())) {
      const bool varies = inputs.col(column).maxCoeff() > inputs.col(column).minCoeff();
      throw_domain_error(
          where, column_name(names, column) + (varies ? " varies by no more than its rounding" : " is constant"),
          inputs(0, column), varies ? "values without their mean" : "two different values");
    }
  }
  const Matrix<T> unit = rows.centered() * result.norm.cwiseInverse().asDiagonal();
  result.factor.setThreshold(T(4.0) * eps * math::from_count<T>(inputs.rows()));
  result.factor.compute(unit);
  if (const Eigen::Index rank = result.factor.rank(); rank < d) {
    throw_domain_error(where,
                       column_name(names, result.factor.colsPermutation().indices()(rank)) +
                           " is a linear combination of " + collinear_with(result.factor, names) +
                           "; its part outside them, relative to its spread",
                       abs(result.factor.matrixR()(rank, rank)), "linearly independent columns");
  }
  return result;
}

}  // namespace detail

template <Real T>
void require_regressable(const Matrix<T>& inputs, std::span<const std::string> column_names) {
  detail::standardized_columns("require_regressable", inputs, column_names);
}

INCONTEXT_COMPILED(regression_regressable, detail::standardized_columns<double>);
INCONTEXT_COMPILED(regression_regressable, require_regressable<double>);

}  // namespace incontext::regression
