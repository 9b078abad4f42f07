#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

#include "incontext/core/compiled.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::regression {

/// The parameters of the isotropic task law: inputs N(0, a I), task vectors N(0, b I), labels with noise.
///
/// Source    arXiv 2511.01292 section 4.4: a = input_variance, b = task_variance.
/// Units     input_variance in input units squared; task_variance in (label / input) units squared; noise_variance in
///           label units squared.
/// Domain    dimension >= 1, both variances > 0, noise_variance >= 0 (checked where it is used).
template <Real T>
struct IsotropicTask {
  std::int64_t dimension = 0;
  T input_variance = T(1.0);
  T task_variance = T(1.0);
  T noise_variance = T(0.0);
};

namespace detail {

template <Real T>
void require_isotropic(std::string_view where, const IsotropicTask<T>& law) {
  require_at_least(where, "dimension", law.dimension, std::int64_t{1});
  require_positive(where, "input_variance", law.input_variance);
  require_positive(where, "task_variance", law.task_variance);
  require_non_negative(where, "noise_variance", law.noise_variance);
}

}  // namespace detail

/// The law of in-context linear regression: one task vector per context, Gaussian inputs, noisy labels.
///
/// \f[ x_i \sim N(\mu_x, \Sigma),\quad w \sim N(\mu_w, W),\quad y_i = w^T x_i + e_i,\quad e_i \sim N(0, \sigma^2) \f]
///
/// Source    arXiv 2511.01292 section 3. An object that exists is valid: its parameters were checked once.
/// Shapes    input_mean, task_mean: d; input_covariance, task_covariance: d x d
/// Units     inputs in units of x, task vector in units of y / x, noise_variance in units of y squared.
/// Domain    d >= 1; both covariances symmetric positive definite; noise_variance >= 0; everything finite.
/// Errors    std::invalid_argument for shapes, std::domain_error for values; both name the parameter and its value.
/// Accuracy  covariances are stored symmetrized: (A + A^T) / 2, A itself when A is symmetric
///           (tests/regression/linear_task.cpp).
template <Real T, class M = Matrix<T>>
class LinearTask {
 public:
  /// The parameters of a law, as named fields.
  struct Parameters {
    Vector<T> input_mean;
    M input_covariance;
    Vector<T> task_mean;
    M task_covariance;
    T noise_variance = T(0.0);
  };

  explicit LinearTask(Parameters parameters);

  static LinearTask isotropic(const IsotropicTask<T>& law);

  std::int64_t dimension() const { return parameters_.input_mean.size(); }
  const Vector<T>& input_mean() const { return parameters_.input_mean; }
  const M& input_covariance() const { return parameters_.input_covariance; }
  const Vector<T>& task_mean() const { return parameters_.task_mean; }
  const M& task_covariance() const { return parameters_.task_covariance; }
  const T& noise_variance() const { return parameters_.noise_variance; }

  /// Lambda = Sigma + mu_x mu_x^T.
  M input_second_moment() const;
  /// R = W + mu_w mu_w^T.
  M task_second_moment() const;

  // Copies with one parameter changed, checked again.
  LinearTask with_input_mean(Vector<T> mean) const {
    require_shape("LinearTask::with_input_mean", "mean", mean, dimension(), 1);  // else the covariance would be blamed
    return with(&Parameters::input_mean, std::move(mean));
  }
  LinearTask with_input_covariance(M covariance) const {
    return with(&Parameters::input_covariance, std::move(covariance));
  }
  LinearTask with_input_covariance_scaled(const T& factor) const {
    require_positive("LinearTask::with_input_covariance_scaled", "factor", factor);
    return with_input_covariance(input_covariance() * factor);
  }
  LinearTask with_task_mean(Vector<T> mean) const { return with(&Parameters::task_mean, std::move(mean)); }
  LinearTask with_task_covariance(M covariance) const {
    return with(&Parameters::task_covariance, std::move(covariance));
  }
  LinearTask with_task_covariance_scaled(const T& factor) const {
    require_positive("LinearTask::with_task_covariance_scaled", "factor", factor);
    return with_task_covariance(task_covariance() * factor);
  }
  LinearTask with_noise_variance(const T& variance) const { return with(&Parameters::noise_variance, variance); }

 private:
  template <class Member, class Value>
  LinearTask with(Member Parameters::*member, Value&& value) const {
    Parameters changed = parameters_;
    changed.*member = std::forward<Value>(value);
    return LinearTask(std::move(changed));
  }

  static void symmetrize(M& matrix);

  Parameters parameters_;
};

// Outside of the class, as in input_rows.hpp.
template <Real T, class M>
LinearTask<T, M>::LinearTask(Parameters parameters) : parameters_(std::move(parameters)) {
  const Eigen::Index d = parameters_.input_mean.size();
  require_at_least("LinearTask", "input_mean.size()", d, Eigen::Index{1});
  require_finite_entries("LinearTask", "input_mean", parameters_.input_mean);
  require_positive_definite("LinearTask", "input_covariance", parameters_.input_covariance, d);
  require_shape("LinearTask", "task_mean", parameters_.task_mean, d, 1);
  require_finite_entries("LinearTask", "task_mean", parameters_.task_mean);
  require_positive_definite("LinearTask", "task_covariance", parameters_.task_covariance, d);
  require_non_negative("LinearTask", "noise_variance", parameters_.noise_variance);
  symmetrize(parameters_.input_covariance);
  symmetrize(parameters_.task_covariance);
}

template <Real T, class M>
LinearTask<T, M> LinearTask<T, M>::isotropic(const IsotropicTask<T>& law) {
  detail::require_isotropic("LinearTask::isotropic", law);
  const M identity = M::Identity(law.dimension, law.dimension);
  const Vector<T> zero = Vector<T>::Zero(law.dimension);
  return LinearTask({zero, identity * law.input_variance, zero, identity * law.task_variance, law.noise_variance});
}

template <Real T, class M>
M LinearTask<T, M>::input_second_moment() const {
  return plus_outer<T>(input_covariance(), T(1.0), input_mean(), input_mean());
}

template <Real T, class M>
M LinearTask<T, M>::task_second_moment() const {
  return plus_outer<T>(task_covariance(), T(1.0), task_mean(), task_mean());
}

template <Real T, class M>
void LinearTask<T, M>::symmetrize(M& matrix) {
  if constexpr (std::same_as<M, Matrix<T>>) {
    const Matrix<T> transposed = matrix.transpose();
    matrix = (matrix + transposed) * T(0.5);
  }
}

/// A law whose covariances are diagonal. The functions that take it together with a DiagonalAttention cost O(d) time and
/// memory, in place of d^3 and d^2.
template <Real T>
using DiagonalTask = LinearTask<T, DiagonalPlusLowRank<T>>;

INCONTEXT_COMPILED_DECLARATION(regression_linear_task, class LinearTask<double>);
INCONTEXT_COMPILED_DECLARATION(regression_linear_task, class LinearTask<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
