#pragma once

#include <cstdint>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/gaussian_error.hpp"
#include "incontext/regression/detail/query_included.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// The mean squared error of approximate softmax attention on Gaussian in-context regression, exact at every context
/// length, as a parabola in the inverse temperature.
///
/// \f[ G(\tau) = E\,(y_q - \hat y_q)^2,\quad \hat y_q = v_x^T \bar x + v_y \bar y + \tfrac1\tau u^T M x_q,\quad
///     u = C_{xx} v_x + v_y C_{xy} \f]
/// \f[ E[C_{xx}] = \tfrac{l-1}{l}\Sigma,\quad
///     E[u u^T] = \tfrac{l-1}{l}\left(\Sigma B \Sigma + \tfrac1l(\mathrm{tr}(B\Sigma) +
///     v_y^2\sigma^2)\Sigma\right),\quad B = E[p p^T],\ p = v_x + v_y w \f]
///
/// Here xbar, ybar, C_xx and C_xy are the means and the covariances (divided by l) of one context; B is an average over
/// the task vector w.
///
///     const auto error = regression::generalization_error(attention, task, 40);
///     const double least = error(error.optimal_temperature());
///
/// `convention` says whether the query is one of its own keys and whether the offset, v_x . xbar + v_y ybar, is kept.
/// By default it is no key, and the offset is kept.
///
/// Source    derived: docs/theory/regression.md#gaussian-inputs; arXiv 2511.01292 Theorem 4.2 is its leading order.
///           Query included: docs/theory/regression.md#query-included.
/// Shapes    (attention: d, task: d, context_length l) -> parabola
/// Units     label units squared.
/// Domain    l >= 2. Query included: task.input_mean = 0 and attention.input_value = 0.
/// Limits    l -> infinity: generalization_error_leading_order with the same offset.
/// Errors    std::invalid_argument for l < 2, shapes, or a query included outside its domain; std::domain_error for
///           entries that are not finite.
/// Accuracy  12 eps of g_0, sqrt(g_0 g_2) and g_2 for d <= 8 (tests/regression/gaussian_errors_50digits.cpp); unbiased
///           against attention run by its definition (tests/regression/generalization_error.cpp).
template <Real T>
InverseTemperatureParabola<T> generalization_error(const Attention<T>& attention, const LinearTask<T>& task,
                                                   std::int64_t context_length, ErrorConvention convention = {}) {
  require_context_length("generalization_error", context_length);
  validate(attention, task.dimension(), "generalization_error");
  if (convention.query == QueryToken::excluded) {
    return detail::exact_error(attention, task, context_length, convention.offset);
  }
  detail::require_query_included_domain("generalization_error", attention, task);
  const auto without_query = detail::exact_error(attention, task, context_length, Offset::removed);
  return detail::query_included_error(without_query, attention, task, context_length, convention.offset);
}

/// The leading order in 1/l of generalization_error. The paper states it with the offset removed; with the offset kept,
/// its mean and its variance, which is of order 1/l, are in the constant.
///
/// \f[ E[C_{xx}] \to \Sigma,\quad E[u u^T] \to \Sigma B \Sigma + \tfrac1l(\mathrm{tr}(B\Sigma)+v_y^2\sigma^2)\Sigma \f]
///
/// Source    arXiv 2511.01292 Theorem 4.2, eqs. (102)-(108), for the offset removed; kept, derived:
///           docs/theory/regression.md#gaussian-inputs.
/// Shapes    (attention: d, task: d, context_length l) -> parabola
/// Units     label units squared.
/// Domain    l >= 2.
/// Limits    the constant is that of the exact parabola with the same offset; the linear and quadratic coefficients are
///           l/(l-1) times the exact ones, so the optimal temperature is exact at every l.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for entries that are not finite.
/// Accuracy  as generalization_error; of order 1/l against the exact error.
template <Real T>
InverseTemperatureParabola<T> generalization_error_leading_order(const Attention<T>& attention,
                                                                 const LinearTask<T>& task, std::int64_t context_length,
                                                                 Offset offset = Offset::removed) {
  require_context_length("generalization_error_leading_order", context_length);
  validate(attention, task.dimension(), "generalization_error_leading_order");
  const auto context = detail::leading_context(attention, task, context_length);
  return detail::gaussian_error(attention, task, context, context_length, offset);
}

}  // namespace incontext::regression
