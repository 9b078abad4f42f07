#pragma once

#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/context_second_moment.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/detail/query_included.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

namespace detail {

/// The leading order in 1/l of E[C] and E[u u^T] for Gaussian inputs. Both are (l - 1) / l times this, exactly:
/// l C is Wishart(l - 1, S), and arXiv 2511.01292 Lemma G.1 (86) gives its second moment.
template <Real T>
ContextMoments<T> leading_context(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t l) {
  const Matrix<T>& s = task.input_covariance();
  const TaskMoments<T> moments{task.task_mean(), task.task_covariance(), task.noise_variance()};
  const Matrix<T> b = moments.product(value(attention), value(attention));
  const T value_noise = attention.label_value * attention.label_value * task.noise_variance();
  return {s, centered_second_moment<T>(s, b, value_noise, math::from_count<T>(l)), Vector<T>::Zero(s.rows())};
}

template <Real T>
InverseTemperatureParabola<T> gaussian_error(const Attention<T>& attention, const LinearTask<T>& task,
                                             const ContextMoments<T>& context, std::int64_t l, Offset offset) {
  return error_parabola<T>(attention, {task.input_mean(), task.input_covariance()},
                           {task.task_mean(), task.task_covariance(), task.noise_variance()}, context, l, offset);
}

/// The exact E[C] and E[u u^T].
template <Real T>
ContextMoments<T> exact_context(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t l) {
  const T degrees = math::from_count<T>(l - 1) / math::from_count<T>(l);
  ContextMoments<T> context = leading_context(attention, task, l);
  context.covariance *= degrees;
  context.vector *= degrees;
  return context;
}

template <Real T>
InverseTemperatureParabola<T> exact_error(const Attention<T>& attention, const LinearTask<T>& task, std::int64_t l,
                                          Offset offset) {
  return gaussian_error(attention, task, exact_context(attention, task, l), l, offset);
}

}  // namespace detail

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
/// Source    derived: docs/theory/regression.md#gaussian-inputs; arXiv 2511.01292 Theorem 4.2 is its leading order.
///           Query included: docs/theory/regression.md#query-included.
/// Shapes    (attention: d, task: d, context_length l) -> parabola
/// Units     label units squared.
/// Domain    l >= 2. Query included: task.input_mean = 0 and attention.input_value = 0.
/// Limits    l -> infinity with the offset removed: generalization_error_leading_order.
/// Errors    std::invalid_argument for l < 2, shapes, or a query included outside its domain; std::domain_error for
///           entries that are not finite.
/// Accuracy  12 eps of g_0, sqrt(g_0 g_2) and g_2 for d <= 8 (tests/regression/gaussian_errors_50digits.cpp); unbiased
///           against attention run by its definition (tests/regression/generalization_error.cpp).
/// Runs on   host
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

/// The leading order in 1/l of generalization_error with the offset removed, which is what the paper states.
///
/// \f[ E[C_{xx}] \to \Sigma,\quad E[u u^T] \to \Sigma B \Sigma + \tfrac1l(\mathrm{tr}(B\Sigma)+v_y^2\sigma^2)\Sigma \f]
///
/// Source    arXiv 2511.01292 Theorem 4.2, eqs. (102)-(108).
/// Shapes    (attention: d, task: d, context_length l) -> parabola
/// Units     label units squared.
/// Domain    l >= 2.
/// Limits    the constant is that of the exact parabola with the offset removed; the linear and quadratic coefficients
///           are l/(l-1) times the exact ones, so the optimal temperature is exact at every l.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for entries that are not finite.
/// Accuracy  as generalization_error; of order 1/l against the exact error.
/// Runs on   host
template <Real T>
InverseTemperatureParabola<T> generalization_error_leading_order(const Attention<T>& attention,
                                                                 const LinearTask<T>& task,
                                                                 std::int64_t context_length) {
  require_context_length("generalization_error_leading_order", context_length);
  validate(attention, task.dimension(), "generalization_error_leading_order");
  const auto context = detail::leading_context(attention, task, context_length);
  return detail::gaussian_error(attention, task, context, context_length, Offset::removed);
}

}  // namespace incontext::regression
