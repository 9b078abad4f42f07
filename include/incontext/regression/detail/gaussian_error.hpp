#pragma once

#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/context_second_moment.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/detail/query_included.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

/// The error of approximate softmax on Gaussian inputs, from the moments of a context.
namespace incontext::regression::detail {

/// The leading order in 1/l of E[C_xx] and E[u u^T] for Gaussian inputs. Both are (l - 1) / l times this, exactly:
/// l C_xx is Wishart(l - 1, Sigma), and arXiv 2511.01292 Lemma G.1 (86) gives its second moment.
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

/// The exact E[C_xx] and E[u u^T].
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

}  // namespace incontext::regression::detail
