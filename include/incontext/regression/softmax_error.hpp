#pragma once

#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "incontext/laws/detail/standard_row.hpp"
#include "incontext/laws/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_domain.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, on centred
/// Gaussian inputs of any covariance: exact at every context length and temperature.
///
/// \f[ G = E_{x_q}\left[ \sigma^2 (1 + v^2 p_2) + x_q^T R x_q - 2 v \frac{Z_1}{q} x_q^T R \Sigma k
///     + v^2 \left( \frac{Z_2}{q^2} k^T \Sigma R \Sigma k + p_2 \left(\mathrm{tr}(R \Sigma)
///     - \frac{k^T \Sigma R \Sigma k}{q}\right)\right)\right],\quad k = M x_q,\ q = k^T \Sigma k \f]
/// with p_2, Z_1, Z_2 the row moments of laws/row_moments.hpp, functions of q alone. So the average over the query is
/// one over q: densities of a weighted sum of chi squares, by quadrature.
///
/// Source    derived: docs/derivations/softmax_error.md.
/// Shapes    (attention: d, task: d, context_length l, map) -> scalar; the query attends to the l examples only
/// Units     label units squared; the map's parameters in units of the scores, a temperature included.
/// Domain    l >= 2; input_mean = 0, input_value = 0; map in its domain.
/// Limits    as softmax_error_isotropic, which it is for isotropic parameters; softmax_error_second_order is its order
///           1/l.
/// Errors    std::invalid_argument for l < 2, shapes, and a mean of the inputs or an input_value; std::domain_error for
///           values; laws::QuadratureError where an estimate stays above eps^0.64.
/// Accuracy  in double 1e-10 relative (tests/regression/softmax_error.cpp).
/// Runs on   host
template <Real T, scoring::SoftmaxLike Map>
laws::Quadrature<T> softmax_error(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t context_length,
                                  const Map& map) {
  using std::sqrt;
  constexpr auto where = "softmax_error";
  detail::require_softmax_domain(where, attention, task, context_length);
  const laws::detail::StandardRows rows(where, map.elementwise(static_cast<std::ptrdiff_t>(context_length)),
                                        detail::real<T>(context_length));
  const auto white = detail::white_attention(attention, task);
  const Matrix<T>& g = white.key_query;
  const T v = attention.label_value, label_variance = task.noise_variance() + white.task.trace();
  const Matrix<T> square = g.transpose() * g;
  if (!(T(0.0) < square.trace())) {
    const auto row = rows(T(0.0));
    return {T(label_variance * (T(1.0) + v * v * row.participation)), row.error_estimate};
  }
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> spectrum(square);
  const Matrix<T>& e = spectrum.eigenvectors();
  const Matrix<T> ge = g * e;
  const Vector<T> beta = e.cwiseProduct(white.task * ge).colwise().sum().transpose();
  const Vector<T> delta = ge.cwiseProduct(white.task * ge).colwise().sum().transpose();
  const detail::WeightedChiSquareQueries<T> queries(where, spectrum.eigenvalues(), beta, delta);
  const T reference = detail::mean_reference(rows, T(sqrt(T(square.trace()))));
  const Matrix<T> missed = Matrix<T>::Identity(g.rows(), g.cols()) - v * reference * g;
  const T without_context = task.noise_variance() + trace_of_product<T>(white.task * missed, missed.transpose());
  return detail::average_over_queries(where, rows, queries,
                                      detail::QueryTerms<T>{without_context, reference, v, label_variance});
}

}  // namespace incontext::regression
