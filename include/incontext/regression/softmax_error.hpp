#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "incontext/core/math.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/read_queries.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, on
/// Gaussian inputs of any mean and covariance: exact at every context length and temperature.
///
/// \f[ G = E_{x_q}\left[ \sigma^2 (1 + v_y^2 p_2) + E_w (w^T x_q - p^T \mu)^2 - 2 \frac{Z_1}{q} E_w (w^T x_q - p^T\mu)
///     p^T \Sigma k + \frac{Z_2}{q^2} k^T \Sigma B \Sigma k + p_2 \left(\mathrm{tr}(B \Sigma)
///     - \frac{k^T \Sigma B \Sigma k}{q}\right)\right],\quad k = M x_q,\ q = k^T \Sigma k \f]
/// with p = v_x + v_y w, B = E[p p^T], mu the inputs' mean and p_2, Z_1, Z_2 the row moments of laws/row_moments.hpp,
/// functions of q alone. So the average over the query is one over q: densities of a weighted sum of noncentral chi
/// squares, by quadrature. Softmax sees the scores' mean k . mu in none of them.
///
/// `tolerance` is the relative error at which the quadrature ends.
///
/// Source    derived: docs/theory/regression.md#softmax-error.
/// Shapes    (attention: d, task: d, context_length l, map) -> scalar; query: whether the query attends to itself, too
/// Units     label units squared; the map's parameters in units of the scores, a temperature included.
/// Domain    l >= 2; input_mean = 0 unless the map is softmax of a linear one (softmax, SSMax); map in its domain.
///           Query included: input_mean = 0, input_value = 0, and key_query a multiple of the inverse of
///           input_covariance, because the query's own score x_q . M x_q is then a function of q. Otherwise the average
///           is over two quadratic forms together, which no single integral does.
/// Limits    as softmax_error_isotropic, which it is for isotropic parameters; softmax_error_second_order is its order
///           1/l for centered inputs and input_value = 0. temperature -> infinity: that of generalization_error.
/// Errors    std::invalid_argument for l < 2, shapes, and a mean of the inputs that the map would see;
///           std::domain_error for values; numerics::QuadratureError as softmax_error_isotropic.
/// Accuracy  in double 1e-10 relative (tests/regression/softmax_error.cpp, softmax_error_shifted.cpp).
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_error(const Attention<T>& attention, const LinearTask<T>& task,
                                      std::int64_t context_length, const Map& map,
                                      QueryToken query = QueryToken::excluded,
                                      const T& tolerance = numerics::quadrature_tolerance<T>()) {
  using std::sqrt;
  constexpr auto where = "softmax_error";
  if (query == QueryToken::included)
    return detail::query_included_softmax_error(where, attention, task, context_length, map, tolerance);
  scoring::require_valid(map);
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(context_length));
  require_context_length(where, context_length);
  validate(attention, task.dimension(), where);
  detail::require_shift_invariance<std::remove_cvref_t<decltype(phi)>>(where, task);
  const laws::StandardRows rows(where, phi, math::from_count<T>(context_length), math::infinity<T>());
  const auto white = detail::white_attention(attention, task);
  const detail::ReadQueries<T> queries(white);
  const T value_variance = white.value_variance();
  if (!(T(0.0) < queries.mean_square())) {
    const auto row = rows(T(0.0));
    return {T(task.noise_variance() + queries.missed(T(0.0)) + value_variance * row.ipr), row.error_estimate};
  }
  const T reference = detail::mean_reference(rows, T(sqrt(queries.mean_square())));
  const T without_context = task.noise_variance() + queries.missed(reference);
  return detail::average_over_queries(where, rows, queries.law(where),
                                      detail::QueryTerms<T>{without_context, reference, value_variance}, tolerance);
}

}  // namespace incontext::regression
