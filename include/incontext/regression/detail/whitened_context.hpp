#pragma once

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

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

// Ridge regression in coordinates in which the prior of the task is standard normal.
namespace detail {

/// What of a context counts: all of it, or what is left when its means are taken off.
enum class ContextMeans { kept, removed };

/// A context in coordinates in which the prior of the task is standard normal: Z = X C, with the Cholesky factor
/// W = C C^T of the prior's covariance, and X less its mean where that is removed. With the noise variance s2, the
/// smaller of the systems Z^T Z + s2 I and Z Z^T + s2 I is solved, and W is never inverted.
template <Real T>
class WhitenedContext {
 public:
  WhitenedContext(std::string_view where, const Matrix<T>& inputs, const Matrix<T>& task_covariance,
                  const T& noise_variance, ContextMeans means)
      : noise_variance_(noise_variance), means_(means) {
    require_at_least(where, "context_length", inputs.rows(), Eigen::Index{means == ContextMeans::removed ? 2 : 1});
    require_at_least(where, "inputs.cols()", inputs.cols(), Eigen::Index{1});
    require_finite_entries(where, "inputs", inputs);
    require_positive_definite(where, "task_covariance", task_covariance, inputs.cols());
    require_non_negative(where, "noise_variance", noise_variance);
    prior_factor_ = numerics::Cholesky<T>(task_covariance).lower();
    inputs_ = inputs;
    if (means_ == ContextMeans::removed) inputs_.rowwise() -= inputs.colwise().mean();
    whitened_ = inputs_ * prior_factor_;
  }

  /// From the surprise, which is the labels minus their prediction by the prior mean: the shift from the prior
  /// mean to the posterior mean, and the posterior covariance.
  RidgePosterior<T> posterior(const Vector<T>& surprise) const {
    using std::cbrt;
    // The condition number of the systems is at most about |Z|^2 / s2; past eps^(-1/3) squaring Z would cost too many
    // digits.
    const T well_conditioned = cbrt(Eigen::NumTraits<T>::epsilon()) * whitened_.squaredNorm();
    return noise_variance_ > well_conditioned ? by_cholesky(surprise) : by_singular_values(surprise);
  }

  Vector<T> surprise(const Vector<T>& labels, const Vector<T>& task_mean) const {
    const T mean = means_ == ContextMeans::removed ? labels.mean() : T(0.0);
    return (labels.array() - mean).matrix() - inputs_ * task_mean;
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
    // For l <= d, removing the mean alone makes one singular value vanish; what rounding leaves of it is no
    // information.
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
  ContextMeans means_;
  Matrix<T> prior_factor_;
  Matrix<T> inputs_;
  Matrix<T> whitened_;
};

/// The posterior given a context, with or without its means.
template <Real T>
RidgePosterior<T> ridge_posterior(std::string_view where, ContextMeans means, const Matrix<T>& inputs,
                                  const Vector<T>& labels, const Vector<T>& task_mean, const Matrix<T>& task_covariance,
                                  const T& noise_variance) {
  require_shape(where, "labels", labels, inputs.rows(), 1);
  require_finite_entries(where, "labels", labels);
  require_shape(where, "task_mean", task_mean, inputs.cols(), 1);
  require_finite_entries(where, "task_mean", task_mean);
  const WhitenedContext<T> context(where, inputs, task_covariance, noise_variance, means);
  RidgePosterior<T> posterior = context.posterior(context.surprise(labels, task_mean));
  posterior.mean += task_mean;
  return posterior;
}

/// The error of predicting a query by a posterior mean whose covariance is P: sigma^2 + tr(Lambda P).
template <Real T>
T ridge_risk(std::string_view where, const RidgePosterior<T>& posterior, const LinearTask<T>& task) {
  const Matrix<T>& p = posterior.covariance;
  require_shape(where, "posterior.covariance", p, task.dimension(), task.dimension());
  require_finite_entries(where, "posterior.covariance", p);
  return task.noise_variance() + trace_of_product<T>(task.input_second_moment(), p);
}

/// The same given the inputs of a context; the labels do not matter.
template <Real T>
T ridge_risk(std::string_view where, ContextMeans means, const Matrix<T>& inputs, const LinearTask<T>& task) {
  require_same_size(where, "inputs.cols()", std::int64_t{inputs.cols()}, task.dimension());
  const WhitenedContext<T> context(where, inputs, task.task_covariance(), task.noise_variance(), means);
  return ridge_risk<T>(where, context.posterior(Vector<T>::Zero(inputs.rows())), task);
}

}  // namespace detail

}  // namespace incontext::regression
