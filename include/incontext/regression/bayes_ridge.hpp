#pragma once

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
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
                              const Matrix<T>& task_covariance, const T& noise_variance);

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
T bayes_ridge_risk(const Matrix<T>& inputs, const LinearTask<T>& task);

// Bayes ridge regression in coordinates in which the prior of the task is standard normal.
namespace detail {

/// A centered context in coordinates in which the prior of the task is standard normal: Z = X_c C, with the Cholesky
/// factor W = C C^T of the prior's covariance. With the noise variance s2, the smaller of the systems Z^T Z + s2 I and
/// Z Z^T + s2 I is solved, and W is never inverted.
template <Real T>
class WhitenedContext {
 public:
  WhitenedContext(std::string_view where, const Matrix<T>& inputs, const Matrix<T>& task_covariance,
                  const T& noise_variance)
      : noise_variance_(noise_variance) {
    require_context_length(where, inputs.rows());
    require_at_least(where, "inputs.cols()", inputs.cols(), Eigen::Index{1});
    require_finite_entries(where, "inputs", inputs);
    require_positive_definite(where, "task_covariance", task_covariance, inputs.cols());
    require_non_negative(where, "noise_variance", noise_variance);
    prior_factor_ = Eigen::LLT<Matrix<T>>(task_covariance).matrixL();
    centered_ = inputs.rowwise() - inputs.colwise().mean();
    whitened_ = centered_ * prior_factor_;
  }

  /// From the surprise, which is the centered labels minus their prediction by the prior mean: the shift from the prior
  /// mean to the posterior mean, and the posterior covariance.
  RidgePosterior<T> posterior(const Vector<T>& surprise) const {
    using std::cbrt;
    // The condition number of the systems is at most about |Z|^2 / s2; past eps^(-1/3) squaring Z would cost too many
    // digits.
    const T well_conditioned = cbrt(Eigen::NumTraits<T>::epsilon()) * whitened_.squaredNorm();
    return noise_variance_ > well_conditioned ? by_cholesky(surprise) : by_singular_values(surprise);
  }

  Vector<T> surprise(const Vector<T>& labels, const Vector<T>& task_mean) const {
    const Vector<T> centered_labels = labels.array() - labels.mean();
    return centered_labels - centered_ * task_mean;
  }

 private:
  RidgePosterior<T> by_cholesky(const Vector<T>& surprise) const {
    const Eigen::Index l = whitened_.rows();
    const Eigen::Index d = whitened_.cols();
    if (d <= l) {
      Matrix<T> system = product<T>(whitened_.transpose(), whitened_);
      system.diagonal().array() += noise_variance_;
      const Eigen::LLT<Matrix<T>> factor(system);
      const Matrix<T> half = factor.matrixL().solve(prior_factor_.transpose());
      return {.mean = prior_factor_ * factor.solve(Vector<T>(whitened_.transpose() * surprise)),
              .covariance = noise_variance_ * product<T>(half.transpose(), half)};
    }
    Matrix<T> system = product<T>(whitened_, whitened_.transpose());
    system.diagonal().array() += noise_variance_;
    const Eigen::LLT<Matrix<T>> factor(system);
    const Matrix<T> half = factor.matrixL().solve(product<T>(whitened_, prior_factor_.transpose()));
    return {.mean = prior_factor_ * (whitened_.transpose() * factor.solve(surprise)),
            .covariance = product<T>(prior_factor_, prior_factor_.transpose()) - product<T>(half.transpose(), half)};
  }

  /// Z = U diag(s) V^T with V square. Along column i of V the posterior variance is the share s2 / (s_i^2 + s2) of the
  /// prior's, and the share is 1 where the context has no information. The limit s2 = 0 needs no case of its own.
  RidgePosterior<T> by_singular_values(const Vector<T>& surprise) const {
    using std::sqrt;
    const Eigen::JacobiSVD<Matrix<T>> svd(whitened_, Eigen::ComputeThinU | Eigen::ComputeFullV);
    const Vector<T>& s = svd.singularValues();
    // For l <= d, centering alone makes one singular value vanish; what rounding leaves of it is not information.
    const T negligible =
        math::from_count<T>((std::max)(whitened_.rows(), whitened_.cols())) * Eigen::NumTraits<T>::epsilon() * s(0);
    Vector<T> along = Vector<T>::Zero(s.size());
    Vector<T> root_share = Vector<T>::Ones(whitened_.cols());
    for (Eigen::Index i = 0; i < s.size() && s(i) > negligible; ++i) {
      const T information = s(i) * s(i) + noise_variance_;
      along(i) = s(i) / information * svd.matrixU().col(i).dot(surprise);
      root_share(i) = sqrt(noise_variance_ / information);
    }
    const Matrix<T> spread = prior_factor_ * svd.matrixV() * root_share.asDiagonal();
    return {.mean = prior_factor_ * (svd.matrixV().leftCols(s.size()) * along),
            .covariance = spread * spread.transpose()};
  }

  T noise_variance_;
  Matrix<T> prior_factor_;
  Matrix<T> centered_;
  Matrix<T> whitened_;
};

}  // namespace detail

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

template <Real T>
T bayes_ridge_risk(const Matrix<T>& inputs, const LinearTask<T>& task) {
  require_same_size("bayes_ridge_risk", "inputs.cols()", std::int64_t{inputs.cols()}, task.dimension());
  const detail::WhitenedContext<T> context("bayes_ridge_risk", inputs, task.task_covariance(), task.noise_variance());
  return bayes_ridge_risk(context.posterior(Vector<T>::Zero(inputs.rows())), task);
}

INCONTEXT_COMPILED(regression_bayes_ridge, bayes_ridge<double>);
INCONTEXT_COMPILED_DECLARATION(regression_bayes_ridge,
                               double bayes_ridge_risk(const RidgePosterior<double>&, const LinearTask<double>&));
INCONTEXT_COMPILED_DECLARATION(regression_bayes_ridge,
                               double bayes_ridge_risk(const Matrix<double>&, const LinearTask<double>&));

}  // namespace incontext::regression
