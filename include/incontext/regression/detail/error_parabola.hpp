#pragma once

#include <cstdint>

#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// The algebra that all exact errors of this room share: docs/theory/regression.md#parabola.
namespace incontext::regression::detail {

/// The random vector input_part + label_part w, affine in the task vector w.
template <Real T>
struct AffineInTask {
  Vector<T> input_part;
  T label_part;
};

/// E[w], Cov[w] and the labels' noise variance; the covariance may be singular.
template <Real T, class M = Matrix<T>>
struct TaskMoments {
  const Vector<T>& mean;
  const M& covariance;
  const T& noise_variance;

  /// E[a b^T] for a and b affine in w.
  M product(const AffineInTask<T>& a, const AffineInTask<T>& b) const {
    return plus_outer<T>((a.label_part * b.label_part) * covariance, T(1.0), a.input_part + a.label_part * mean,
                         b.input_part + b.label_part * mean);
  }
};

/// E[x] and Cov[x].
template <Real T, class M = Matrix<T>>
struct InputMoments {
  const Vector<T>& mean;
  const M& covariance;

  M second() const { return plus_outer<T>(covariance, T(1.0), mean, mean); }
};

/// Moments of one context. Its covariance C (divided by l) and C_xe, that of inputs and label noise, enter the
/// prediction through u = C p + v_y C_xe, where p = v_x + v_y w.
template <Real T, class M = Matrix<T>>
struct ContextMoments {
  M covariance;            ///< E[C_xx]
  M vector;                ///< E[u u^T]
  Vector<T> offset_third;  ///< E[(p . (xbar - mu_x)) C p], zero for symmetric laws
};

/// p = v_x + v_y w: without the label noise, the value of an input x is p . x.
template <Real T, class M>
AffineInTask<T> value(const Attention<T, M>& attention) {
  return {attention.input_value, attention.label_value};
}

/// The vector that multiplies the mean of the inputs in the residual: r = w - p with the offset kept, and w without it.
template <Real T, class M>
AffineInTask<T> residual_task(const Attention<T, M>& attention, Offset offset) {
  if (offset == Offset::removed) return {Vector<T>::Zero(attention.input_value.size()), T(1.0)};
  return {-attention.input_value, T(1.0) - attention.label_value};
}

/// E[(y_q - b - u^T M x_q / temperature)^2] for a query with label y_q = w . x_q + e_q, independent of the context:
///
///   g_0 = s2 + tr(Sigma R) + mu^T E[r r^T] mu  (+ (tr(B Sigma) + v_y^2 s2) / l with the offset kept)
///   g_1 = tr(Sigma M^T E[C_xx] E[p w^T]) + mu^T E[r p^T] E[C_xx] M mu  (- offset_third^T M mu with the offset kept)
///   g_2 = tr(M (Sigma + mu mu^T) M^T E[u u^T])
///
/// with mu, Sigma of the inputs, R = E[w w^T], B = E[p p^T]; sums without cancellation when v_y = 1 and mu is large.
template <Real T, class M>
InverseTemperatureParabola<T> error_parabola(const Attention<T, M>& attention, const InputMoments<T, M>& inputs,
                                             const TaskMoments<T, M>& task, const ContextMoments<T, M>& context,
                                             std::int64_t context_length, Offset offset) {
  const M& m = attention.key_query;
  const Vector<T>& mu = inputs.mean;
  const AffineInTask<T> p = value(attention);
  const AffineInTask<T> r = residual_task(attention, offset);
  const AffineInTask<T> w{Vector<T>::Zero(mu.size()), T(1.0)};
  const Vector<T> read_at_mean = m * mu;

  InverseTemperatureParabola<T> error{
      .constant = task.noise_variance + trace_of_product<T>(inputs.covariance, task.product(w, w)) +
                  mu.dot(Vector<T>(task.product(r, r) * mu)),
      .linear = trace_of_product<T>(product<T>(inputs.covariance, m.transpose()),
                                    product<T>(context.covariance, task.product(p, w))) +
                mu.dot(Vector<T>(task.product(r, p) * Vector<T>(context.covariance * read_at_mean))),
      .quadratic = trace_of_product<T>(product<T>(product<T>(m, inputs.second()), m.transpose()), context.vector)};
  if (offset == Offset::kept) {
    const T value_noise = attention.label_value * attention.label_value * task.noise_variance;
    error.constant += (trace_of_product<T>(task.product(p, p), inputs.covariance) + value_noise) /
                      math::from_count<T>(context_length);
    error.linear -= context.offset_third.dot(read_at_mean);
  }
  return error;
}

}  // namespace incontext::regression::detail
