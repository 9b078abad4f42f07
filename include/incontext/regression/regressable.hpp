#pragma once

#include <span>
#include <string>

#include "incontext/core/math.hpp"
#include "incontext/regression/detail/collinear_columns.hpp"
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
void require_regressable(const Matrix<T>& inputs, std::span<const std::string> column_names = {}) {
  detail::standardized_columns("require_regressable", inputs, column_names);
}

}  // namespace incontext::regression
