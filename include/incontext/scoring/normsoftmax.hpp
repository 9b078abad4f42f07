#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/normsoftmax_pass.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// NormSoftmax on one row: softmax whose temperature is the row's own standard deviation (or variance), capped by tau.
///
/// \f[ a = \mathrm{softmax}\Bigl(\frac{z}{\min(\sigma(z), \tau)}\Bigr) \f]
///
/// sigma is taken over the visible scores. Masked scores are -infinity; their weights and derivatives are 0. The scores
/// are the raw products q . k, and tau is usually sqrt(d).
///
/// Source    arXiv 2310.12956 eq. 2; the variance variant is what its public code calls norm_softmax.
/// Units     temperature in units of the scores (squared for the variance); weights dimensionless.
/// Domain    temperature > 0; scores whose differences do not overflow.
/// Limits    sigma >= tau: softmax(z / tau), also its derivatives. Equal scores, sigma at most eps |mean z|, are divided
///           by tau: equal weights. The map jumps there. Its derivative is by convention that of softmax(z / tau), so
///           that training can move query and key matrices that start at 0, where all scores are 0.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or temperature is outside the domain.
/// Runs on   host and device
template <Real T = double>
struct NormSoftmax {
  using value_type = T;
  T temperature = T(1);
  ScoreScale scale = ScoreScale::population_stddev;
};

template <Real T>
NormSoftmax(T) -> NormSoftmax<T>;
template <Real T>
NormSoftmax(T, ScoreScale) -> NormSoftmax<T>;

/// NormSoftmax with one sigma over all visible scores of a matrix: one per sample, head and layer.
///
/// \f[ a_{ij} = \frac{e^{z_{ij}/D}}{\sum_{j'} e^{z_{ij'}/D}}, \qquad D = \min(\sigma(z_{11}, \ldots, z_{qn}), \tau) \f]
///
/// Source    arXiv 2310.12956, text below eq. 2; NormSoftmax has the rest.
/// Domain    as NormSoftmax.
/// Limits    as NormSoftmax; a row without a visible score is NaN and does not affect the others.
/// Errors    as NormSoftmax, for the whole matrix.
/// Runs on   host and device
template <Real T = double>
struct MatrixNormSoftmax {
  using value_type = T;
  T temperature = T(1);
  ScoreScale scale = ScoreScale::population_stddev;
};

template <Real T>
MatrixNormSoftmax(T) -> MatrixNormSoftmax<T>;
template <Real T>
MatrixNormSoftmax(T, ScoreScale) -> MatrixNormSoftmax<T>;

/// Weights of a matrix of scores.
///
/// Source    see MatrixNormSoftmax.
/// Shapes    (scores: q x n, out: q x n), out may be scores.
/// Accuracy  8 eps (1 + |log(a_i / max a)|) relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const MatrixNormSoftmax<T>& map, MatrixView<const std::type_identity_t<T>> scores,
                          MatrixView<std::type_identity_t<T>> out) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) pass.weights(scores.row(r), out.row(r));
}

/// Logarithms of the weights of a matrix of scores.
///
/// Source    see MatrixNormSoftmax.
/// Shapes    (scores: q x n, out: q x n), out may be scores.
/// Accuracy  8 eps (1 + |log a_i|): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void log_weights(const MatrixNormSoftmax<T>& map, MatrixView<const std::type_identity_t<T>> scores,
                              MatrixView<std::type_identity_t<T>> out) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) pass.log_weights(scores.row(r), out.row(r));
}

/// Jacobian times a direction, in O(q n).
///
/// \f[ (J u)_r = P_r \Bigl( \frac{u_r}{D} - (z_r - \bar z) \frac{\nabla D \cdot u}{D^2} \Bigr), \qquad
///     \nabla D = \frac{z - \bar z}{\nu D} \;\text{or, for the variance,}\; \frac{2 (z - \bar z)}{n} \f]
///
/// Source    derived: docs/theory/scoring.md#normsoftmax. P_r = diag(a_r) - a_r a_r^T for row r; nu = n, or n - 1 for
///           the sample standard deviation; 0 in place of nabla D if sigma >= tau.
/// Shapes    (scores: q x n, direction: q x n, out: q x n), out may be scores or direction.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values in both terms, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const MatrixNormSoftmax<T>& map, MatrixView<const std::type_identity_t<T>> scores,
                      MatrixView<const std::type_identity_t<T>> direction, MatrixView<std::type_identity_t<T>> out) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  const T rate = pass.divisor_rate(scores, direction) / pass.divisor;
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) pass.jvp(scores.row(r), direction.row(r), rate, out.row(r));
}

/// Transposed Jacobian times a cotangent, in O(q n).
///
/// \f[ J^T g = \frac{y}{D} - \nabla D\, \frac{(z - \bar z) \cdot y}{D^2}, \qquad y_r = P_r g_r \f]
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: q x n, cotangent: q x n, out: q x n), out may be scores or cotangent.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values in both terms, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const MatrixNormSoftmax<T>& map, MatrixView<const std::type_identity_t<T>> scores,
                      MatrixView<const std::type_identity_t<T>> cotangent, MatrixView<std::type_identity_t<T>> out) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  if (pass.vjp_of_one_row(scores, cotangent, out)) return;
  const T projection = pass.project(scores, cotangent);
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) pass.vjp(scores.row(r), cotangent.row(r), projection, out.row(r));
}

/// Derivative of the weights with respect to the temperature: 0 if sigma < tau, else softmax's.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: q x n, out: q x n), out may be scores.
/// Accuracy  8 eps (1 + G) times |d a_i| + a_i max|d a|: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void derivative(const MatrixNormSoftmax<T>& map, parameter::Temperature,
                             MatrixView<const std::type_identity_t<T>> scores,
                             MatrixView<std::type_identity_t<T>> out) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t r = 0; r < scores.rows; ++r) pass.temperature_derivative(scores.row(r), out.row(r));
}

namespace detail {

template <Real T>
INCONTEXT_HD MatrixNormSoftmax<T> matrix_scope(const NormSoftmax<T>& map) {
  return {map.temperature, map.scale};
}

}  // namespace detail

/// Weights of one row: the matrix form with one row.
///
/// Source    see NormSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const NormSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  weights(detail::matrix_scope(map), detail::as_grid(scores), detail::as_grid(out));
}

/// Logarithms of the weights of one row: the matrix form with one row.
///
/// Source    see NormSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void log_weights(const NormSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                              Row<std::type_identity_t<T>> out) {
  log_weights(detail::matrix_scope(map), detail::as_grid(scores), detail::as_grid(out));
}

/// Jacobian times a direction, in O(n): the matrix form with one row.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const NormSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  jvp(detail::matrix_scope(map), detail::as_grid(scores), detail::as_grid(direction), detail::as_grid(out));
}

/// Transposed Jacobian times a cotangent, in O(n): the matrix form with one row.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const NormSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  vjp(detail::matrix_scope(map), detail::as_grid(scores), detail::as_grid(cotangent), detail::as_grid(out));
}

/// Derivative of the weights with respect to the temperature: the matrix form with one row.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void derivative(const NormSoftmax<T>& map, parameter::Temperature name,
                             Row<const std::type_identity_t<T>> scores, Row<std::type_identity_t<T>> out) {
  derivative(detail::matrix_scope(map), name, detail::as_grid(scores), detail::as_grid(out));
}

/// Derivative of g . a, for a cotangent g of one row's weights, with respect to the temperature: 0 if sigma < tau, else
/// softmax's.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Shapes    (scores: n, cotangent: n, scratch: n) -> scalar; scratch shares no element with the others.
/// Errors    NaN where `weights` answers with a NaN row.
/// Accuracy  that of softmax: derivative_along of softmax_of.hpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T derivative_along(const NormSoftmax<T>& map, parameter::Temperature,
                                Row<const std::type_identity_t<T>> scores, Row<const std::type_identity_t<T>> cotangent,
                                Row<std::type_identity_t<T>> scratch) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, detail::as_grid(scores));
  if (!pass.valid()) return math::not_a_number<T>();
  return pass.temperature_derivative_along(scores, cotangent, scratch);
}

/// Refuses a map outside its domain: temperature > 0, infinity allowed.
///
/// Source    the domain of NormSoftmax.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const NormSoftmax<T>& map) {
  require_above_zero("scoring::validate", "temperature", map.temperature);
}

/// Refuses a matrix form outside its domain: temperature > 0, infinity allowed.
///
/// Source    the domain of MatrixNormSoftmax.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const MatrixNormSoftmax<T>& map) {
  require_above_zero("scoring::validate", "temperature", map.temperature);
}

}  // namespace incontext::scoring
