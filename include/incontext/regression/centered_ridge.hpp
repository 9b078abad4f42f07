#pragma once

#include "incontext/core/compiled.hpp"
#include "incontext/regression/detail/whitened_context.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// Ridge regression on a centered context, with the true prior: the posterior of the task vector given that alone.
///
/// \f[ P = \left(X_c^T X_c/\sigma^2 + W^{-1}\right)^{-1},\quad
///     \hat w = P\left(X_c^T y_c/\sigma^2 + W^{-1}\mu_w\right)
///            = \mu_w + W X_c^T (X_c W X_c^T + \sigma^2 I)^{-1} (y_c - X_c\mu_w) \f]
///
/// The model's labels have no intercept, so that the means that are taken off say something about the task: `posterior`
/// knows them and errs less.
///
/// Source    arXiv 2511.01292 eqs. (11), (23)-(32), which calls it Bayes-optimal; computed as
///           docs/theory/regression.md#centered-ridge.
/// Shapes    (inputs: l x d, labels: l, task_mean: d, task_covariance: d x d) -> mean: d, covariance: d x d
/// Domain    l >= 2, any d (l < d too); task_covariance positive definite; noise_variance >= 0.
/// Limits    noise_variance = 0: the mean is the interpolant nearest to task_mean in the norm of the prior, and the
///           covariance that of the prior given the directions that the context spans. noise_variance -> infinity: the
///           prior.
/// Errors    std::invalid_argument for shapes and l < 2, std::domain_error for values.
/// Accuracy  40 eps of the mean, 8 eps of the prior's covariance for l, d <= 20, with and without noise
///           (tests/regression/centered_ridge_50digits.cpp); at worst eps^(2/3), where Cholesky gives way to singular
///           values.
template <Real T>
RidgePosterior<T> centered_ridge(const Matrix<T>& inputs, const Vector<T>& labels, const Vector<T>& task_mean,
                                 const Matrix<T>& task_covariance, const T& noise_variance) {
  return detail::ridge_posterior<T>("centered_ridge", detail::ContextMeans::removed, inputs, labels, task_mean,
                                    task_covariance, noise_variance);
}

/// The error of predicting a query by the ridge's mean, given its covariance P; Lambda = E[x x^T].
///
/// \f[ \sigma^2 + \mathrm{tr}(\Lambda P) \f]
///
/// Source    arXiv 2511.01292 eqs. (23)-(32).
/// Shapes    (posterior: d, task: d) -> scalar
/// Units     label units squared.
/// Domain    the posterior from contexts of the same noise variance and prior as the task's.
/// Limits    no context: sigma^2 + tr(Lambda W).
/// Errors    std::invalid_argument for shapes, std::domain_error for entries that are not finite.
/// Accuracy  d^2 eps given P; equals the squared error over drawn tasks (tests/regression/centered_ridge.cpp).
template <Real T>
T centered_ridge_risk(const RidgePosterior<T>& posterior, const LinearTask<T>& task) {
  return detail::ridge_risk<T>("centered_ridge_risk", posterior, task);
}

/// The error of the ridge given the inputs of a context; it does not depend on the labels.
///
/// Source    as above.
/// Shapes    (inputs: l x d, task: d) -> scalar
/// Units     label units squared.
/// Domain    l >= 2.
/// Errors    as centered_ridge.
/// Accuracy  as centered_ridge.
template <Real T>
T centered_ridge_risk(const Matrix<T>& inputs, const LinearTask<T>& task) {
  return detail::ridge_risk<T>("centered_ridge_risk", detail::ContextMeans::removed, inputs, task);
}

INCONTEXT_COMPILED(regression_centered_ridge, centered_ridge<double>);
INCONTEXT_COMPILED_DECLARATION(regression_centered_ridge,
                               double centered_ridge_risk(const RidgePosterior<double>&, const LinearTask<double>&));
INCONTEXT_COMPILED_DECLARATION(regression_centered_ridge,
                               double centered_ridge_risk(const Matrix<double>&, const LinearTask<double>&));

}  // namespace incontext::regression
