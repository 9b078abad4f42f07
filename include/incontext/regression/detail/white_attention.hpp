#pragma once

#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/error_parabola.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression::detail {

/// The layer and the law in the coordinates of white inputs, x = L zeta with Sigma = L L^T and zeta normal with
/// covariance I: G = L^T M L, P = L^T R L, and L^T of the tasks' mean, of v_x; L^-1 of the inputs' mean.
template <Real T, class M = Matrix<T>>
struct WhiteAttention {
  M key_query, task, task_covariance;
  Vector<T> task_mean, input_value, input_mean;
  T label_value, noise_variance;

  /// E[w p^T] and E[p p^T], p = v_x + v_y w.
  M task_with_value() const { return moments().product({Vector<T>::Zero(task_mean.size()), T(1.0)}, value()); }
  M value_square() const { return moments().product(value(), value()); }

  /// The variance of what the weights multiply, p . x + v_y e.
  T value_variance() const { return value_square().trace() + label_value * label_value * noise_variance; }

 private:
  AffineInTask<T> value() const { return {input_value, label_value}; }
  TaskMoments<T, M> moments() const { return {task_mean, task_covariance, noise_variance}; }
};

template <Real T, class M>
WhiteAttention<T, M> white_attention(const Attention<T, M>& attention, const LinearTask<T, M>& task) {
  const numerics::Cholesky<T, M> inputs(task.input_covariance());
  const M& root = inputs.lower();
  const Vector<T> mean = root.transpose() * task.task_mean();
  const M covariance = product<T>(product<T>(root.transpose(), task.task_covariance()), root);
  return {product<T>(product<T>(root.transpose(), attention.key_query), root),
          plus_outer<T>(covariance, T(1.0), mean, mean),
          covariance,
          mean,
          root.transpose() * attention.input_value,
          inputs.solve_lower(task.input_mean()),
          attention.label_value,
          task.noise_variance()};
}

}  // namespace incontext::regression::detail
