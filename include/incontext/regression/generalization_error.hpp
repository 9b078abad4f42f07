#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/context_second_moment.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
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
/// Accuracy  12 eps of g_0, sqrt(g_0 g_2), g_2 for the three, d <= 8
///           (tests/regression/gaussian_errors_50digits.cpp); unbiased against attention run by its definition
///           (tests/regression/generalization_error.cpp).
template <Real T, class M = Matrix<T>>
InverseTemperatureParabola<T> generalization_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                                   std::int64_t context_length, ErrorConvention convention = {});

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
template <Real T, class M = Matrix<T>>
InverseTemperatureParabola<T> generalization_error_leading_order(const Attention<T, M>& attention,
                                                                 const LinearTask<T, M>& task,
                                                                 std::int64_t context_length,
                                                                 Offset offset = Offset::removed);

// The query among its own keys, with label 0: docs/theory/regression.md#query-included.
namespace detail {

template <Real T>
void require_zero(std::string_view where, std::string_view parameter, const Vector<T>& vector) {
  for (Eigen::Index i = 0; i < vector.size(); ++i) {
    if (!(vector(i) <= T(0.0) && vector(i) >= T(0.0))) {
      throw_invalid_argument(where, entry(parameter, i, 0) + " is not zero and the query is included", vector(i),
                             "0, or QueryToken::excluded");
    }
  }
}

template <Real T, class M>
void require_query_included_domain(std::string_view where, const Attention<T, M>& attention,
                                   const LinearTask<T, M>& task) {
  require_zero(where, "input_mean", task.input_mean());
  require_zero(where, "input_value", attention.input_value);
}

/// The error with the query included, from the parabola of the same attention with the query excluded and the offset
/// removed, whose linear and quadratic coefficients are c_1 and c_2. With n = l + 1, v = v_y, N = M Sigma M^T and the
/// variance of the averaged labels h = (tr(Sigma R) + s2) / l:
///
///   g_0 = s2 + tr(Sigma R)                                        [+ (l/n)^2 v^2 h]
///   g_1 = (l/n) c_1 + (v/n^2) tr(Sigma M^T Sigma R)               [+ (l^2/n^3) v^2 tr(M Sigma) h]
///   g_2 = (l/n)^2 c_2 + 2 (l/n^3) v tr(N Sigma E[w u^T])
///         + (l^2/n^4) v^2 ((tr(M Sigma)^2 + tr(M Sigma M Sigma) + tr(N Sigma)) h
///                          + (tr(N Sigma) (tr(Sigma R) + s2) + 2 tr(Sigma N Sigma R)) / l^2)
///
/// The bracketed terms belong to the offset and are added where it is kept; Sigma E[w u^T] = ((l-1)/l) v Sigma R Sigma.
template <Real T, class M>
InverseTemperatureParabola<T> query_included_error(const InverseTemperatureParabola<T>& without_query,
                                                   const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                                   std::int64_t context_length, Offset offset) {
  const T l = math::from_count<T>(context_length);
  const T n = math::from_count<T>(context_length + 1);
  const T v = attention.label_value;
  const T share = l / n;
  const M& s = task.input_covariance();
  const M r = task.task_second_moment();
  const M ms = product<T>(attention.key_query, s);
  const M ns = product<T>(product<T>(ms, attention.key_query.transpose()), s);
  const M sr = product<T>(s, r);
  const T label_variance = sr.trace() + task.noise_variance();
  const T h = label_variance / l;
  const T self = ms.trace();

  InverseTemperatureParabola<T> error = without_query;
  error.linear =
      share * error.linear + v / (n * n) * trace_of_product<T>(product<T>(s, attention.key_query.transpose()), sr);
  const T mixed = trace_of_product<T>(ns, sr.transpose());
  const T with_context = T(2.0) * share * v / (n * n) * ((l - T(1.0)) / l * v * mixed);
  const T with_query = share * share * v * v / (n * n) *
                       ((self * self + trace_of_product<T>(ms, ms) + ns.trace()) * h +
                        (ns.trace() * label_variance + T(2.0) * mixed) / (l * l));
  error.quadratic = share * share * error.quadratic + with_context + with_query;
  if (offset == Offset::kept) {
    error.constant += share * share * v * v * h;
    error.linear += share * share * v * v / n * self * h;
  }
  return error;
}

}  // namespace detail

// The error of approximate softmax on Gaussian inputs, from the moments of a context.
namespace detail {

/// The leading order in 1/l of E[C_xx] and E[u u^T] for Gaussian inputs. Both are (l - 1) / l times this, exactly:
/// l C_xx is Wishart(l - 1, Sigma), and arXiv 2511.01292 Lemma G.1 (86) gives its second moment.
template <Real T, class M>
ContextMoments<T, M> leading_context(const Attention<T, M>& attention, const LinearTask<T, M>& task, std::int64_t l) {
  const M& s = task.input_covariance();
  const TaskMoments<T, M> moments{task.task_mean(), task.task_covariance(), task.noise_variance()};
  const M b = moments.product(value(attention), value(attention));
  const T value_noise = attention.label_value * attention.label_value * task.noise_variance();
  return {s, centered_second_moment<T, M>(s, b, value_noise, math::from_count<T>(l)), Vector<T>::Zero(s.rows())};
}

template <Real T, class M>
InverseTemperatureParabola<T> gaussian_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                             const ContextMoments<T, M>& context, std::int64_t l, Offset offset) {
  return error_parabola<T, M>(attention, {task.input_mean(), task.input_covariance()},
                              {task.task_mean(), task.task_covariance(), task.noise_variance()}, context, l, offset);
}

/// The exact E[C_xx] and E[u u^T].
template <Real T, class M>
ContextMoments<T, M> exact_context(const Attention<T, M>& attention, const LinearTask<T, M>& task, std::int64_t l) {
  const T degrees = math::from_count<T>(l - 1) / math::from_count<T>(l);
  ContextMoments<T, M> context = leading_context(attention, task, l);
  context.covariance *= degrees;
  context.vector *= degrees;
  return context;
}

template <Real T, class M>
InverseTemperatureParabola<T> exact_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                          std::int64_t l, Offset offset) {
  return gaussian_error(attention, task, exact_context(attention, task, l), l, offset);
}

}  // namespace detail

template <Real T, class M>
InverseTemperatureParabola<T> generalization_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                                   std::int64_t context_length, ErrorConvention convention);

template <Real T, class M>
InverseTemperatureParabola<T> generalization_error_leading_order(const Attention<T, M>& attention,
                                                                 const LinearTask<T, M>& task,
                                                                 std::int64_t context_length, Offset offset) {
  require_context_length("generalization_error_leading_order", context_length);
  validate(attention, task.dimension(), "generalization_error_leading_order");
  const auto context = detail::leading_context(attention, task, context_length);
  return detail::gaussian_error(attention, task, context, context_length, offset);
}

template <Real T, class M>
InverseTemperatureParabola<T> generalization_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                                   std::int64_t context_length, ErrorConvention convention) {
  require_context_length("generalization_error", context_length);
  validate(attention, task.dimension(), "generalization_error");
  if (convention.query == QueryToken::excluded) {
    return detail::exact_error(attention, task, context_length, convention.offset);
  }
  detail::require_query_included_domain("generalization_error", attention, task);
  const auto without_query = detail::exact_error(attention, task, context_length, Offset::removed);
  return detail::query_included_error(without_query, attention, task, context_length, convention.offset);
}

INCONTEXT_COMPILED(regression_generalization_error, generalization_error<double>);
INCONTEXT_COMPILED(regression_generalization_error, generalization_error<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED(regression_generalization_error, generalization_error_leading_order<double>);
INCONTEXT_COMPILED(regression_generalization_error,
                   generalization_error_leading_order<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
