#pragma once

#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/context_second_moment.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

namespace detail {

/// E[C_xx] and E[u u^T] where scores are neither centered nor normalized: C_xx is the inputs' second moment there.
template <Real T, class M>
ContextMoments<T, M> raw_context(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                 std::int64_t context_length) {
  const Vector<T>& mu = task.input_mean();
  const M lambda = task.input_second_moment();
  const TaskMoments<T, M> moments{task.task_mean(), task.task_covariance(), task.noise_variance()};
  const T value_noise = attention.label_value * attention.label_value * task.noise_variance();
  return {lambda,
          raw_second_moment<T, M>(lambda, mu, moments.product(value(attention), value(attention)), value_noise,
                                  math::from_count<T>(context_length)),
          Vector<T>::Zero(mu.size())};
}

}  // namespace detail

/// The mean squared error of linear attention (scores used as weights, neither normalized nor centered), exact at every
/// context length and for every mean of the inputs, as a parabola in the inverse temperature.
///
/// \f[ \hat y_q = \tfrac1\tau u^T M x_q,\quad u = \tfrac1l\sum_i x_i (v_x^T x_i + v_y y_i),\quad
///     E[u u^T] = \tfrac{l-1}{l}\Lambda B\Lambda + \tfrac1l F(B) + \tfrac{v_y^2\sigma^2}{l}\Lambda \f]
/// \f[ F(B) = 2\Lambda B\Lambda + \mathrm{tr}(B\Lambda)\Lambda - 2(\mu_x^T B\mu_x)\mu_x\mu_x^T,\quad
///     \Lambda = \Sigma + \mu_x\mu_x^T,\quad B = E[p p^T],\ p = v_x + v_y w \f]
///
/// Source    derived: docs/theory/regression.md#linear-attention; arXiv 2511.01292 eq. (8), Remark 3.4.
/// Shapes    (attention: d, task: d, context_length l) -> parabola
/// Units     label units squared.
/// Domain    l >= 2; the query attends to the l examples only.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for entries that are not finite.
/// Accuracy  12 eps of g_0, sqrt(g_0 g_2) and g_2 for d <= 8 (tests/regression/gaussian_errors_50digits.cpp); unbiased
///           against attention run by its definition (tests/regression/linear_attention_error.cpp).
template <Real T, class M = Matrix<T>>
InverseTemperatureParabola<T> linear_attention_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                                     std::int64_t context_length) {
  require_context_length("linear_attention_error", context_length);
  validate(attention, task.dimension(), "linear_attention_error");
  return detail::error_parabola<T, M>(attention, {task.input_mean(), task.input_covariance()},
                                      {task.task_mean(), task.task_covariance(), task.noise_variance()},
                                      detail::raw_context(attention, task, context_length), context_length,
                                      Offset::removed);
}

INCONTEXT_COMPILED(regression_linear_attention_error, linear_attention_error<double>);
INCONTEXT_COMPILED(regression_linear_attention_error, linear_attention_error<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
