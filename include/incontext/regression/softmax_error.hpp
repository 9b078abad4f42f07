#pragma once

#include <Eigen/Eigenvalues>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/laws/quadrature.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

namespace detail {

/// What the error needs of the attention in coordinates in which the inputs are white: the law of sigma^2, the variance
/// of a query's scores, and the error that is left at infinite context.
template <Real T>
class ReadQueries {
 public:
  explicit ReadQueries(const WhiteAttention<T>& white)
      : white_(white), square_(product<T>(white.key_query.transpose(), white.key_query)) {}

  /// The mean of sigma^2 over queries.
  T mean_square() const { return square_.trace(); }

  WeightedChiSquareQueries<T> law(std::string_view where) const {
    const Eigen::SelfAdjointEigenSolver<Matrix<T>> spectrum(square_);
    const Matrix<T>& e = spectrum.eigenvectors();
    const Matrix<T> ge = white_.key_query * e;
    const Matrix<T> weighted = white_.task * ge;
    return {where, spectrum.eigenvalues(), e.cwiseProduct(weighted).colwise().sum().transpose(),
            ge.cwiseProduct(weighted).colwise().sum().transpose()};
  }

  /// tr(R H S H^T) with H = I - gain S M: the error of w . (gain S M x_q) as a prediction of w . x_q.
  T missed(const T& gain) const {
    const Matrix<T> h = Matrix<T>::Identity(square_.rows(), square_.cols()) - gain * white_.key_query;
    return trace_of_product<T>(white_.task * h, h.transpose());
  }

 private:
  const WhiteAttention<T>& white_;
  Matrix<T> square_;
};

}  // namespace detail

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, on
/// centered Gaussian inputs of any covariance: exact at every context length and temperature.
///
/// \f[ G = E_{x_q}\left[ \sigma^2 (1 + v^2 p_2) + x_q^T R x_q - 2 v \frac{Z_1}{q} x_q^T R \Sigma k
///     + v^2 \left( \frac{Z_2}{q^2} k^T \Sigma R \Sigma k + p_2 \left(\mathrm{tr}(R \Sigma)
///     - \frac{k^T \Sigma R \Sigma k}{q}\right)\right)\right],\quad k = M x_q,\ q = k^T \Sigma k \f]
/// Here R = E[w w^T], and p_2, Z_1 and Z_2 are the row moments of laws/row_moments.hpp. They depend on the query
/// through q alone, so the average over the query is an integral over q, which is distributed as a weighted sum of chi
/// squares.
///
/// Source    derived: docs/theory/regression.md#softmax-error.
/// Shapes    (attention: d, task: d, context_length l, map) -> scalar; the query attends to the l examples only
/// Units     label units squared; the map's parameters in units of the scores, a temperature included.
/// Domain    l >= 2; input_mean = 0, input_value = 0; map in its domain.
/// Limits    softmax_error_isotropic for isotropic parameters, with its limits; softmax_error_second_order is the
///           expansion to order 1/l.
/// Errors    std::invalid_argument for l < 2, shapes, and a mean of the inputs or an input_value; std::domain_error for
///           values; laws::QuadratureError where the error estimate of a quadrature stays above eps^0.64.
/// Accuracy  in double 1e-10 relative (tests/regression/softmax_error.cpp).
/// Runs on   host
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
laws::Quadrature<T> softmax_error(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t context_length,
                                  const Map& map) {
  using std::sqrt;
  constexpr auto where = "softmax_error";
  require_softmax_domain(where, attention, task, context_length);
  const laws::StandardRows rows(where, map.elementwise(static_cast<std::ptrdiff_t>(context_length)),
                                math::from_count<T>(context_length));
  const auto white = detail::white_attention(attention, task);
  const detail::ReadQueries<T> queries(white);
  const T v = attention.label_value, label_variance = task.noise_variance() + white.task.trace();
  if (!(T(0.0) < queries.mean_square())) {
    const auto row = rows(T(0.0));
    return {T(label_variance * (T(1.0) + v * v * row.ipr)), row.error_estimate};
  }
  const T reference = detail::mean_reference(rows, T(sqrt(queries.mean_square())));
  const T without_context = task.noise_variance() + queries.missed(T(v * reference));
  return detail::average_over_queries(where, rows, queries.law(where),
                                      detail::QueryTerms<T>{without_context, reference, v, label_variance});
}

}  // namespace incontext::regression
