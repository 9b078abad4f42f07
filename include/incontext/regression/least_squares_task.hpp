#pragma once

#include <span>
#include <string>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/regressable.hpp"

namespace incontext::regression {

/// The linear task nearest to labeled rows: y = intercept + slope . x + residual.
///
/// Shapes    slope: d
/// Units     slope in label units over input units; residual_variance in label units squared.
template <Real T>
struct LeastSquaresTask {
  Vector<T> slope;
  T intercept;
  T residual_variance;
};

/// Ordinary least squares with an intercept, for use as the task (mean slope, covariance 0) of any_law_error.
///
/// \f[ \hat w = \arg\min_w \sum_i (y_i - \bar y - w^T (x_i - \bar x))^2,\qquad
///     \hat\sigma^2 = \tfrac1n\sum_i (y_i - \bar y - \hat w^T (x_i - \bar x))^2 \f]
///
/// The residuals are divided by n, because here the rows are the whole law, as they are in InputRows. If the rows are a
/// sample of a law, n / (n - d - 1) times residual_variance is an unbiased estimate of that law's noise variance.
///
/// Source    Householder QR with column pivoting on centered columns of unit norm.
/// Shapes    (inputs: n x d, labels: n, column_names: d or none) -> slope: d
/// Domain    as require_regressable; labels finite.
/// Limits    labels linear in the inputs: residual_variance 0 up to rounding.
/// Errors    as require_regressable; std::invalid_argument for the number of labels.
/// Accuracy  eps times the condition of the standardized columns: 40 eps of |labels| / |column| for random columns of
///           any unit (tests/regression/least_squares_task_50digits.cpp).
template <Real T>
LeastSquaresTask<T> least_squares_task(const Matrix<T>& inputs, const Vector<T>& labels,
                                       std::span<const std::string> column_names = {}) {
  require_shape("least_squares_task", "labels", labels, inputs.rows(), 1);
  require_finite_entries("least_squares_task", "labels", labels);
  const auto columns = detail::standardized_columns("least_squares_task", inputs, column_names);
  const InputRows<T> label_rows{Matrix<T>(labels)};
  const Vector<T> centered_labels = label_rows.centered();
  const Vector<T> scaled = columns.factor.solve(centered_labels);
  const Vector<T> slope = scaled.cwiseQuotient(columns.norm);
  const Vector<T> residual = centered_labels - (inputs.rowwise() - columns.mean.transpose()) * slope;
  return {.slope = slope,
          .intercept = label_rows.mean()(0) - slope.dot(columns.mean),
          .residual_variance = residual.squaredNorm() / math::from_count<T>(labels.size())};
}

INCONTEXT_COMPILED(regression_least_squares_task, least_squares_task<double>);

}  // namespace incontext::regression
