#pragma once

#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/input_rows.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"

namespace incontext::regression {

namespace detail {

/// E[C_xx B C_xx] for the covariance C_xx (divided by l) of l independent draws with covariance Sigma and fourth moment
/// F = F(B):
/// ((l-1) / l^3) ((l-1) F + ((l-1)^2 + 1) Sigma B Sigma + tr(B Sigma) Sigma).
template <Real T>
Matrix<T> context_sandwich(const Matrix<T>& s, const Matrix<T>& b, const Matrix<T>& fourth,
                           std::int64_t context_length) {
  const T l = math::from_count<T>(context_length);
  const T k = math::from_count<T>(context_length - 1);
  return (k / (l * l * l)) *
         (k * fourth + (k * k + T(1.0)) * product<T>(product<T>(s, b), s) + trace_of_product<T>(b, s) * s);
}

}  // namespace detail

/// The mean squared error of approximate softmax attention when contexts and queries are drawn, with replacement, from
/// the rows of a data set and the labels are linear with Gaussian noise: exact at every context length, for any data.
///
/// \f[ E[C_{xx} B C_{xx}] = \tfrac{l-1}{l^3}\left( (l-1) F(B) + (l-1)^2\Sigma B\Sigma + \Sigma B\Sigma
///     + \mathrm{tr}(B\Sigma)\Sigma \right) \f]
/// \f[ E[u u^T] = E[C_{xx} B C_{xx}] + v_y^2\sigma^2\tfrac{l-1}{l^2}\Sigma,\qquad
///     E[b\,u^T M x_q] = \mu^T B\,E[C_{xx}] M\mu + \tfrac{l-1}{l^2}\,t(B)^T M\mu \f]
///
/// F and t are the moments of InputRows, and mu is the mean of the rows; b, u and B are those of generalization_error.
///
/// `offset` says whether the part of the prediction that does not depend on the temperature is kept or removed.
///
/// Source    derived: docs/theory/regression.md#any-inputs.
/// Shapes    (attention: d, rows: n x d, task_mean: d, task_covariance: d x d) -> parabola
/// Units     label units squared.
/// Domain    l >= 2; task_covariance positive semidefinite (0: one known task); noise_variance >= 0; query excluded.
/// Limits    Gaussian moments give generalization_error.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for values.
/// Accuracy  equals the enumeration of every context to 40 digits; rounding 12 eps of g_0, sqrt(g_0 g_2) and g_2 for
///           d <= 8 (tests/regression/any_law_error_50digits.cpp).
template <Real T>
InverseTemperatureParabola<T> any_law_error(const Attention<T>& attention, const InputRows<T>& rows,
                                            const Vector<T>& task_mean, const Matrix<T>& task_covariance,
                                            const T& noise_variance, std::int64_t context_length,
                                            Offset offset = Offset::kept) {
  const std::int64_t d = rows.dimension();
  require_context_length("any_law_error", context_length);
  validate(attention, d, "any_law_error");
  require_shape("any_law_error", "task_mean", task_mean, d, 1);
  require_finite_entries("any_law_error", "task_mean", task_mean);
  require_positive_semidefinite("any_law_error", "task_covariance", task_covariance, d);
  require_non_negative("any_law_error", "noise_variance", noise_variance);

  const T l = math::from_count<T>(context_length);
  const T k = math::from_count<T>(context_length - 1);
  const Matrix<T>& s = rows.covariance();
  const detail::TaskMoments<T> task{task_mean, task_covariance, noise_variance};
  const Matrix<T> b = task.product(detail::value(attention), detail::value(attention));
  const T value_noise = attention.label_value * attention.label_value * noise_variance;
  const Matrix<T> vector = detail::context_sandwich<T>(s, b, rows.fourth_moment(b), context_length);
  return detail::error_parabola<T>(
      attention, {rows.mean(), s}, task,
      {(k / l) * s, vector + (value_noise * k / (l * l)) * s, (k / (l * l)) * rows.third_moment(b)}, context_length,
      offset);
}

/// The mean squared error of approximate softmax attention when contexts and queries are drawn, with replacement, from
/// the rows of a data set together with their own labels: no model of the labels at all, exact at every context length.
///
/// \f[ \tilde z_i = (x_i; y_i) - \tilde\mu,\quad \tilde p = (v_x; v_y),\quad b = \tilde p^T\bar{\tilde x},\quad
///     u = \text{first } d \text{ rows of } \tilde C\tilde p \f]
/// \f[ g_0 = E(y_q - b)^2,\quad g_1 = E[u]^T M\,E[x_q y_q] - E[b u]^T M\mu,\quad
///     g_2 = \mathrm{tr}\left(M\,E[x_q x_q^T] M^T\,E[u u^T]\right) \f]
///
/// Source    derived: docs/theory/regression.md#rows-with-labels.
/// Shapes    (attention: d, rows: n x d, labels: n) -> parabola
/// Units     label units squared.
/// Domain    l >= 2; query excluded and drawn independently of its context.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for entries that are not finite.
/// Accuracy  as any_law_error (tests/regression/labeled_rows_error_50digits.cpp).
template <Real T>
InverseTemperatureParabola<T> labeled_rows_error(const Attention<T>& attention, const InputRows<T>& rows,
                                                 const Vector<T>& labels, std::int64_t context_length,
                                                 Offset offset = Offset::kept) {
  const std::int64_t d = rows.dimension();
  require_context_length("labeled_rows_error", context_length);
  validate(attention, d, "labeled_rows_error");
  require_shape("labeled_rows_error", "labels", labels, rows.count(), 1);
  require_finite_entries("labeled_rows_error", "labels", labels);

  const T l = math::from_count<T>(context_length);
  const T k = math::from_count<T>(context_length - 1);
  Matrix<T> table(rows.count(), d + 1);
  table << rows.centered(), labels;
  const InputRows<T> joint(std::move(table));
  Vector<T> p(d + 1);
  p << attention.input_value, attention.label_value;

  const Matrix<T> pp = p * p.transpose();
  const Vector<T> spread = joint.covariance() * p;
  const Matrix<T> vector = detail::context_sandwich<T>(joint.covariance(), pp, joint.fourth_moment(pp), context_length);
  const Matrix<T> vector_of_inputs = vector.topLeftCorner(d, d);
  const Vector<T>& mu = rows.mean();
  const T label_mean = joint.mean()(d);
  const T offset_mean =
      offset == Offset::kept ? T(attention.input_value.dot(mu) + attention.label_value * label_mean) : T(0.0);
  const T gap = label_mean - offset_mean;
  const Vector<T> read_at_mean = attention.key_query * mu;
  const Vector<T> read_at_labels = attention.key_query * joint.covariance().col(d).head(d);
  const Matrix<T> second = rows.covariance() + mu * mu.transpose();

  InverseTemperatureParabola<T> error{
      .constant = joint.covariance()(d, d) + gap * gap,
      .linear = (k / l) * spread.head(d).dot(read_at_labels + gap * read_at_mean),
      .quadratic = trace_of_product<T>(
          product<T>(product<T>(attention.key_query, second), attention.key_query.transpose()), vector_of_inputs)};
  if (offset == Offset::kept) {
    error.constant += p.dot(spread) / l;
    error.linear -= (k / (l * l)) * joint.third_moment(pp).head(d).dot(read_at_mean);
  }
  return error;
}

INCONTEXT_COMPILED(regression_any_law_error, any_law_error<double>);
INCONTEXT_COMPILED(regression_any_law_error, labeled_rows_error<double>);

}  // namespace incontext::regression
