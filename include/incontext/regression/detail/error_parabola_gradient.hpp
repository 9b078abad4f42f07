#pragma once

#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The gradient of the formula that all exact errors share: docs/theory/training.md#population-gradients.
namespace incontext::regression::detail {

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

}  // namespace incontext::regression::detail
