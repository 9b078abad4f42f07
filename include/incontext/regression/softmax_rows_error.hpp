#pragma once

#include <Eigen/Cholesky>
#include <concepts>
#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/drawn_rows.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, when
/// contexts and queries are drawn, with replacement, from the rows of a data set and the labels are linear with
/// Gaussian noise: exact at every context length and temperature, for any data.
///
/// \f[ G = \frac1n \sum_q \left[ \sigma^2 (1 + v_y^2 E p_2) + E_w E\left(\textstyle\sum_j p_j
///     (v_x^T x_j + v_y w^T x_j - w^T x_q)\right)^2 \right] \f]
/// \f[ E\left|\textstyle\sum_j p_j b_j\right|^2 = \int du \left( \frac l n \sum_i t_i^2 e^{-t_i} |b_i|^2 \psi^{l-1}
///     + \frac{l(l-1)}{n^2} \Big|\sum_i t_i e^{-t_i} b_i\Big|^2 \psi^{l-2} \right) \f]
/// \f[ t_i = e^{u + \phi(z_i)},\quad \psi = \frac1n \sum_i e^{-t_i} \f]
///
/// The cost is that of n^2 (d + 1) multiplications for each of about 150 values of u.
///
/// Source    derived: docs/theory/regression.md#softmax-on-rows.
/// Shapes    (attention: d, rows: n x d, task_mean: d, task_covariance: d x d, context_length l, map) -> scalar
/// Units     label units squared; the map's parameters in units of the scores.
/// Domain    l >= 2; task_covariance positive semidefinite (0: one known task); noise_variance >= 0; map in its domain;
///           query excluded and drawn independently of its context. Inputs need not be centered, whatever the map.
/// Limits    temperature -> infinity: any_law_error. Rows drawn from a normal law, n -> infinity: softmax_error.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for values; numerics::QuadratureError.
/// Accuracy  1e-12 relative in double for l to 10^3, of the enumeration of every context
///           (tests/regression/softmax_rows_error.cpp).
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_any_law_error(const Attention<T>& attention, const Matrix<T>& rows,
                                              const Vector<T>& task_mean, const Matrix<T>& task_covariance,
                                              const T& noise_variance, std::int64_t context_length, const Map& map) {
  constexpr auto where = "softmax_any_law_error";
  detail::require_rows(where, attention, rows, context_length);
  const Eigen::Index d = rows.cols();
  require_shape(where, "task_mean", task_mean, d, 1);
  require_finite_entries(where, "task_mean", task_mean);
  require_positive_semidefinite(where, "task_covariance", task_covariance, d);
  require_non_negative(where, "noise_variance", noise_variance);
  // the square root of a covariance that may be singular
  const Eigen::LDLT<Matrix<T>> factor(task_covariance);
  const Matrix<T> unscaled = factor.transpositionsP().transpose() * Matrix<T>(factor.matrixL());
  const Matrix<T> root = unscaled * factor.vectorD().cwiseMax(T(0.0)).cwiseSqrt().asDiagonal();
  const T v = attention.label_value;
  return detail::average_over_rows<T>(where, attention, rows, context_length, map, noise_variance, [&](Eigen::Index q) {
    const Matrix<T> missed = (v * rows).rowwise() - rows.row(q);
    Matrix<T> values(rows.rows(), d + 1);
    values << rows * attention.input_value + missed * task_mean, missed * root;
    return values;
  });
}

/// The mean squared error of true softmax attention when contexts and queries are drawn, with replacement, from the
/// rows of a data set together with their own labels: no model of the labels at all.
///
/// \f[ G = \frac1n \sum_q E\left(\textstyle\sum_j p_j (v_x^T x_j + v_y y_j - y_q)\right)^2 \f]
///
/// Source    derived: docs/theory/regression.md#softmax-on-rows.
/// Shapes    (attention: d, rows: n x d, labels: n, context_length l, map) -> scalar
/// Units     label units squared.
/// Domain    as softmax_any_law_error.
/// Errors    as softmax_any_law_error; std::domain_error for labels that are not finite.
/// Accuracy  as softmax_any_law_error.
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_labeled_rows_error(const Attention<T>& attention, const Matrix<T>& rows,
                                                   const Vector<T>& labels, std::int64_t context_length,
                                                   const Map& map) {
  constexpr auto where = "softmax_labeled_rows_error";
  detail::require_rows(where, attention, rows, context_length);
  require_shape(where, "labels", labels, rows.rows(), 1);
  require_finite_entries(where, "labels", labels);
  const Vector<T> read = rows * attention.input_value + attention.label_value * labels;
  return detail::average_over_rows<T>(where, attention, rows, context_length, map, T(0.0),
                                      [&](Eigen::Index q) { return Matrix<T>(read.array() - labels(q)); });
}

}  // namespace incontext::regression
