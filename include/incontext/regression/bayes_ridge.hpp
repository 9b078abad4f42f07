#pragma once

#include <cstdint>

#include "incontext/regression/detail/whitened_context.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// The posterior law of the task vector given a context, under a Gaussian prior.
///
/// Shapes    mean: d; covariance: d x d
/// Units     mean in label units over input units, covariance in their square.
template <Real T>
struct RidgePosterior {
  Vector<T> mean;
  Matrix<T> covariance;
};

/// The posterior of the task vector given a centered context: Bayes-optimal ridge regression.
///
/// \f[ P = \left(X_c^T X_c/\sigma^2 + W^{-1}\right)^{-1},\quad
///     \hat w = P\left(X_c^T y_c/\sigma^2 + W^{-1}\mu_w\right)
///            = \mu_w + W X_c^T (X_c W X_c^T + \sigma^2 I)^{-1} (y_c - X_c\mu_w) \f]
///
/// Source    arXiv 2511.01292 eqs. (11), (23)-(32); computed as docs/theory/regression.md#bayes-ridge.
/// Shapes    (inputs: l x d, labels: l, task_mean: d, task_covariance: d x d) -> mean: d, covariance: d x d
/// Units     as RidgePosterior.
/// Domain    l >= 2, any d (l < d too); task_covariance positive definite; noise_variance >= 0.
/// Limits    noise_variance = 0: the mean is the interpolant nearest to task_mean in the norm of the prior, and the
///           covariance that of the prior given the directions that the context spans. noise_variance -> infinity: the
///           prior.
/// Errors    std::invalid_argument for shapes and l < 2, std::domain_error for values.
/// Accuracy  40 eps of the mean, 8 eps of the prior's covariance for l, d <= 20, with and without noise
///           (tests/regression/bayes_ridge_50digits.cpp); at worst eps^(2/3), where Cholesky gives way to singular
///           values.
template <Real T>
RidgePosterior<T> bayes_ridge(const Matrix<T>& inputs, const Vector<T>& labels, const Vector<T>& task_mean,
                              const Matrix<T>& task_covariance, const T& noise_variance) {
  require_shape("bayes_ridge", "labels", labels, inputs.rows(), 1);
  require_finite_entries("bayes_ridge", "labels", labels);
  require_shape("bayes_ridge", "task_mean", task_mean, inputs.cols(), 1);
  require_finite_entries("bayes_ridge", "task_mean", task_mean);
  const detail::WhitenedContext<T> context("bayes_ridge", inputs, task_covariance, noise_variance);
  RidgePosterior<T> posterior = context.posterior(context.surprise(labels, task_mean));
  posterior.mean += task_mean;
  return posterior;
}

/// The error of predicting a query by the posterior mean, given the posterior covariance P; Lambda = E[x x^T].
///
/// \f[ \sigma^2 + \mathrm{tr}(\Lambda P) \f]
///
/// Source    arXiv 2511.01292 eqs. (23)-(32).
/// Shapes    (posterior_covariance P: d x d, task: d) -> scalar
/// Units     label units squared.
/// Domain    P from contexts of the same noise variance and prior as the task's.
/// Limits    no context: sigma^2 + tr(Lambda W).
/// Errors    std::invalid_argument for shapes, std::domain_error for entries that are not finite.
/// Accuracy  d^2 eps given P; equals the squared error over drawn tasks (tests/regression/bayes_ridge.cpp).
template <Real T>
T bayes_ridge_risk(const RidgePosterior<T>& posterior, const LinearTask<T>& task) {
  const Matrix<T>& p = posterior.covariance;
  require_shape("bayes_ridge_risk", "posterior.covariance", p, task.dimension(), task.dimension());
  require_finite_entries("bayes_ridge_risk", "posterior.covariance", p);
  return task.noise_variance() + trace_of_product<T>(task.input_second_moment(), p);
}

/// The error of the Bayes ridge given the inputs of a context; it does not depend on the labels.
///
/// Source    as above.
/// Shapes    (inputs: l x d, task: d) -> scalar
/// Units     label units squared.
/// Domain    l >= 2.
/// Errors    as bayes_ridge.
/// Accuracy  as bayes_ridge.
template <Real T>
T bayes_ridge_risk(const Matrix<T>& inputs, const LinearTask<T>& task) {
  require_same_size("bayes_ridge_risk", "inputs.cols()", std::int64_t{inputs.cols()}, task.dimension());
  const detail::WhitenedContext<T> context("bayes_ridge_risk", inputs, task.task_covariance(), task.noise_variance());
  return bayes_ridge_risk(context.posterior(Vector<T>::Zero(inputs.rows())), task);
}

}  // namespace incontext::regression
