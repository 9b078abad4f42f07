#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/context_second_moment.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// A layer's error at one inverse temperature, and its gradient by all that the layer can learn.
///
/// Shapes    attention: as the layer, each entry the derivative by that entry.
/// Units     label units squared, over the units of the parameter.
template <Real T>
struct ErrorGradient {
  T error;
  Attention<T> attention;
  T inverse_temperature;
};

// The gradient of the formula that all exact errors share: docs/theory/training.md#population-gradients.
namespace detail {

/// How E[u u^T] depends on the layer: its gradients by B = E[p p^T] and by the values' noise v_y^2 s2.
template <Real T>
struct ContextSlopes {
  Matrix<T> by_value_square;  ///< of tr(K E[u u^T]) with K = M (Sigma + mu mu^T) M^T
  T by_value_noise;
};

/// The gradient of error_parabola at one inverse temperature b, for a law whose third moments vanish. With p = v_x +
/// v_y w and the residual's vector r, the error is the mean of a form of second degree in p, r and w. Its gradient by
/// p is the vector q = Q_p p + Q_r r + Q_w w, so that the gradient by v_x is E[q], and by v_y E[w . q].
template <Real T>
Attention<T> error_parabola_gradient(const Attention<T>& attention, const InputMoments<T>& inputs,
                                     const TaskMoments<T>& task, const ContextMoments<T>& context,
                                     const ContextSlopes<T>& slopes, std::int64_t context_length, Offset offset,
                                     const T& b) {
  const Matrix<T>& m = attention.key_query;
  const Vector<T>& mu = inputs.mean;
  const AffineInTask<T> p = value(attention), r = residual_task(attention, offset);
  const AffineInTask<T> w{Vector<T>::Zero(mu.size()), T(1.0)};
  const Vector<T> read_at_mean = context.covariance * Vector<T>(m * mu);
  const bool kept = offset == Offset::kept;
  const T share = kept ? T(T(1.0) / math::from_count<T>(context_length)) : T(0.0);

  const Matrix<T> linear = product<T>(product<T>(context.covariance, task.product(p, w)), inputs.covariance) +
                           Vector<T>(context.covariance * Vector<T>(task.product(p, r) * mu)) * mu.transpose();
  const Matrix<T> quadratic = product<T>(product<T>(context.vector, m), inputs.second());

  Matrix<T> by_p = (T(2.0) * b * b) * slopes.by_value_square + (T(2.0) * share) * inputs.covariance;
  Matrix<T> by_r = (T(-2.0) * b) * (read_at_mean * mu.transpose());
  if (kept) {
    by_p += (T(2.0) * b) * (mu * read_at_mean.transpose());
    by_r -= T(2.0) * (mu * mu.transpose());
  }
  const Matrix<T> by_w = (T(-2.0) * b) * product<T>(product<T>(context.covariance, m), inputs.covariance);
  const Vector<T> constant = by_p * p.input_part + by_r * r.input_part;
  const Matrix<T> in_task = p.label_part * by_p + r.label_part * by_r + by_w;
  const T noise = T(2.0) * attention.label_value * task.noise_variance * (b * b * slopes.by_value_noise + share);
  return {.key_query = (T(2.0) * b) * (b * quadratic - linear),
          .input_value = constant + in_task * task.mean,
          .label_value = task.mean.dot(constant) + trace_of_product<T>(in_task, task.product(w, w)) + noise};
}

}  // namespace detail

namespace detail {

template <Real T>
ErrorGradient<T> parabola_and_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                       const ContextMoments<T>& context, const ContextSlopes<T>& slopes,
                                       std::int64_t context_length, Offset offset, const T& b) {
  const InputMoments<T> inputs{task.input_mean(), task.input_covariance()};
  const TaskMoments<T> moments{task.task_mean(), task.task_covariance(), task.noise_variance()};
  const auto error = error_parabola<T>(attention, inputs, moments, context, context_length, offset);
  return {error.constant + b * (b * error.quadratic - T(2.0) * error.linear),
          error_parabola_gradient<T>(attention, inputs, moments, context, slopes, context_length, offset, b),
          T(2.0) * (b * error.quadratic - error.linear)};
}

/// K = M (Sigma + mu mu^T) M^T, with which g_2 = tr(K E[u u^T]).
template <Real T>
Matrix<T> query_square(const Attention<T>& attention, const LinearTask<T>& task) {
  return product<T>(product<T>(attention.key_query, task.input_second_moment()), attention.key_query.transpose());
}

template <Real T>
void require_gradient(std::string_view where, const Attention<T>& attention, const LinearTask<T>& task,
                      std::int64_t context_length, const T& inverse_temperature) {
  require_context_length(where, context_length);
  validate(attention, task.dimension(), where);
  require_finite_entries(where, "inverse_temperature", Vector<T>::Constant(1, inverse_temperature));
}

}  // namespace detail

/// The error of approximate softmax attention at inverse temperature b, and its gradient by M, v_x, v_y and b: exact at
/// every context length, for every covariance and mean.
///
/// \f[ \frac{\partial G}{\partial M} = 2 b \left( b\, E[u u^T] M \Lambda - E[C_{xx}] E[p w^T] \Sigma
///     - E[C_{xx}] E[p r^T] \mu_x \mu_x^T \right),\quad
///     \frac{\partial G}{\partial b} = 2 (b g_2 - g_1),\quad \Lambda = \Sigma + \mu_x \mu_x^T \f]
/// with the moments of generalization_error and r = w - p; the gradients by v_x and v_y are in the derivation.
///
///     const auto slope = regression::generalization_error_gradient(attention, task, 40);
///     // slope.error, slope.attention.key_query, slope.attention.label_value, slope.inverse_temperature
///
/// `offset` says whether the part of the prediction that does not depend on the temperature is kept or removed.
///
/// Source    derived: docs/theory/training.md#population-gradients.
/// Shapes    (attention: d, task: d, context_length l, inverse_temperature b) -> as ErrorGradient
/// Units     of the error over those of each parameter.
/// Domain    l >= 2; the query excluded; b any number, also negative.
/// Limits    zero by b at 1 / optimal_temperature.
/// Errors    std::invalid_argument for l < 2 and shapes, std::domain_error for values.
/// Accuracy  1e-11 of the largest entry against differences of the error, which are exact because the error is a
///           parabola in each single parameter: tests/regression/error_gradient.cpp.
template <Real T>
ErrorGradient<T> generalization_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                               std::int64_t context_length, const T& inverse_temperature = T(1.0),
                                               Offset offset = Offset::kept);

/// The error of linear attention at inverse temperature b, and its gradient by M, v_x, v_y and b: exact at every
/// context length, for every covariance and mean.
///
/// The formulas are those of generalization_error_gradient with the moments of linear_attention_error and r = w. Since
/// the prediction is linear in M and in (v_x, v_y), gradient flow conserves |M|^2 - |v_x|^2 - v_y^2.
///
/// Source    derived: docs/theory/training.md#population-gradients.
/// Shapes    (attention: d, task: d, context_length l, inverse_temperature b) -> as ErrorGradient
/// Units     of the error over those of each parameter.
/// Domain    l >= 2; b any number, also negative.
/// Limits    zero by b at the optimal temperature's inverse.
/// Errors    std::invalid_argument for l < 2 and shapes, std::domain_error for values.
/// Accuracy  as generalization_error_gradient.
template <Real T>
ErrorGradient<T> linear_attention_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                                 std::int64_t context_length, const T& inverse_temperature = T(1.0));

template <Real T>
ErrorGradient<T> generalization_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                               std::int64_t context_length, const T& inverse_temperature,
                                               Offset offset) {
  detail::require_gradient("generalization_error_gradient", attention, task, context_length, inverse_temperature);
  const T l = math::from_count<T>(context_length), degrees = (l - T(1.0)) / l;
  const Matrix<T> k = detail::query_square(attention, task);
  const Matrix<T>& s = task.input_covariance();
  const detail::ContextSlopes<T> slopes{degrees * detail::centered_second_moment<T>(s, k, T(0.0), l),
                                        degrees * trace_of_product<T>(k, s) / l};
  return detail::parabola_and_gradient<T>(attention, task, detail::exact_context(attention, task, context_length),
                                          slopes, context_length, offset, inverse_temperature);
}

template <Real T>
ErrorGradient<T> linear_attention_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                                 std::int64_t context_length, const T& inverse_temperature) {
  detail::require_gradient("linear_attention_error_gradient", attention, task, context_length, inverse_temperature);
  const T l = math::from_count<T>(context_length);
  const Matrix<T> k = detail::query_square(attention, task), lambda = task.input_second_moment();
  const detail::ContextSlopes<T> slopes{detail::raw_second_moment<T>(lambda, task.input_mean(), k, T(0.0), l),
                                        trace_of_product<T>(k, lambda) / l};
  return detail::parabola_and_gradient<T>(attention, task, detail::raw_context(attention, task, context_length), slopes,
                                          context_length, Offset::removed, inverse_temperature);
}

INCONTEXT_COMPILED(regression_error_gradient, generalization_error_gradient<double>);
INCONTEXT_COMPILED(regression_error_gradient, linear_attention_error_gradient<double>);

}  // namespace incontext::regression
