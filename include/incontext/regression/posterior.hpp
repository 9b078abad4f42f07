#pragma once

#include "incontext/core/compiled.hpp"
#include "incontext/regression/detail/whitened_context.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// The posterior law of the task vector given a context: no predictor errs less than its mean.
///
/// \f[ P = \left(X^T X/\sigma^2 + W^{-1}\right)^{-1},\quad
///     \hat w = P\left(X^T y/\sigma^2 + W^{-1}\mu_w\right) \f]
///
///     const auto best = regression::posterior(inputs, labels, task.task_mean(), task.task_covariance(), 0.1);
///     const double answer = rows.row(0).dot(best.mean);
///
/// Source    linear regression with a normal prior, for the model (2) of arXiv 2511.01292, whose labels have no
///           intercept; docs/theory/regression.md#centered-ridge.
/// Shapes    (inputs: l x d, labels: l, task_mean: d, task_covariance: d x d) -> mean: d, covariance: d x d
/// Domain    l >= 1, any d (l < d too); task_covariance positive definite; noise_variance >= 0.
/// Limits    as centered_ridge.
/// Errors    std::invalid_argument for shapes and l < 1, std::domain_error for values.
/// Accuracy  as centered_ridge (tests/regression/centered_ridge_50digits.cpp).
template <Real T>
RidgePosterior<T> posterior(const Matrix<T>& inputs, const Vector<T>& labels, const Vector<T>& task_mean,
                            const Matrix<T>& task_covariance, const T& noise_variance) {
  return detail::ridge_posterior<T>("posterior", detail::ContextMeans::kept, inputs, labels, task_mean, task_covariance,
                                    noise_variance);
}

/// The error of the posterior mean given the inputs of a context, the least that any predictor has; Lambda = E[x x^T].
///
/// \f[ \sigma^2 + \mathrm{tr}(\Lambda P) \f]
///
/// Source    as above. For isotropic centered inputs baselines::bayes_risk is its mean over contexts.
/// Shapes    (inputs: l x d, task: d) -> scalar
/// Units     label units squared.
/// Domain    l >= 1.
/// Errors    as posterior.
/// Accuracy  as posterior.
template <Real T>
T posterior_risk(const Matrix<T>& inputs, const LinearTask<T>& task) {
  return detail::ridge_risk<T>("posterior_risk", detail::ContextMeans::kept, inputs, task);
}

INCONTEXT_COMPILED(regression_posterior, posterior<double>);
INCONTEXT_COMPILED(regression_posterior, posterior_risk<double>);

}  // namespace incontext::regression
