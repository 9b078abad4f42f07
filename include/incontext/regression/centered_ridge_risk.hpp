#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/solve.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// The risk of the ridge on the centered context in the proportional limit, isotropic task.
///
/// \f[ r = \sigma^2 + \tfrac{a b}{2}\left(\sqrt{c^2 + 4 d s} - c\right),\quad s = \tfrac{\sigma^2}{a b},\quad
///     c = n - d + s,\quad n = l - 1 \f]
///
/// a, b and sigma^2 are the variances of inputs, task and noise. With gamma = d/n and lambda = s/n this is
/// sigma^2 (1 + gamma m(-lambda)), where m is the Stieltjes transform of the Marchenko-Pastur law, evaluated without
/// cancellation on either side of c = 0. Centering costs one example, hence n = l - 1: at l + 1 it is the limit of the
/// posterior mean at l.
///
/// Source    derived: docs/theory/regression.md#centered-ridge-risk, where c and the root are divided by n.
/// Shapes    scalars
/// Units     label units squared.
/// Domain    dimension >= 1, a > 0, b > 0, noise_variance >= 0, l >= 2.
/// Limits    no noise: a b max(d - n, 0). l -> infinity: sigma^2. b -> infinity with d < n: sigma^2 / (1 - gamma).
/// Errors    std::invalid_argument for counts, std::domain_error for variances.
/// Accuracy  10 eps of the limit (tests/regression/centered_ridge_risk_50digits.cpp). The limit differs from the finite
///           risk by O(1/d): at d = 20 it is within 1%, near l = d 2.5% below it
///           (tests/regression/centered_ridge_risk.cpp).
template <Real T>
T centered_ridge_risk_isotropic_limit(const IsotropicTask<T>& task, std::int64_t context_length) {
  using std::sqrt;
  require_context_length("centered_ridge_risk_isotropic_limit", context_length);
  detail::require_isotropic("centered_ridge_risk_isotropic_limit", task);
  const T d = math::from_count<T>(task.dimension);
  const T signal = task.input_variance * task.task_variance;
  const T s = task.noise_variance / signal;
  const T c = math::from_count<T>(context_length - 1 - task.dimension) + s;
  const T root = sqrt(c * c + T(4.0) * d * s);
  if (c <= T(0.0)) return task.noise_variance + signal * (root - c) / T(2.0);
  return task.noise_variance * (T(1.0) + T(2.0) * d / (c + root));
}

/// The effective ridge of a task at a context length, and the risk that follows from it.
///
/// Units     effective_ridge dimensionless times label units squared (per example); risks in label units squared.
template <Real T>
struct CenteredRidgeRiskEquivalent {
  T effective_ridge;
  T risk;         ///< of a query drawn about the inputs' mean: sigma^2 + tr(Sigma P)
  T mean_excess;  ///< what a mean of the inputs adds: mu_x^T P mu_x, 0 for centered inputs
};

namespace detail {

/// The positive root kappa of sigma^2 / kappa + (d - n) = sum_i kappa / (e_i + kappa), or 0 where there is none (no
/// noise and d <= n). A negative d - n is moved to the right, so that both sides are sums of positive terms. The left
/// side falls with kappa, and the right side rises.
template <Real T>
T effective_ridge(const Vector<T>& eigenvalues, const T& noise_variance, std::int64_t n) {
  const std::int64_t d = eigenvalues.size();
  if (!(noise_variance > T(0.0)) && d <= n) return T(0.0);
  const T unexplained = math::from_count<T>(d > n ? d - n : 0);
  const T spare = math::from_count<T>(n > d ? n - d : 0);
  const auto imbalance = [&](const T& kappa) {
    T filtered = T(0.0);
    for (Eigen::Index i = 0; i < d; ++i) filtered += kappa / (eigenvalues(i) + kappa);
    return T((noise_variance / kappa + unexplained) - (spare + filtered));
  };
  // kappa is in [max(s2, (d - n) min e) / n, (s2 + sum e) / n]. The bracket is twice as wide on both sides, where the
  // signs are certain in spite of rounding.
  const T floor = unexplained * eigenvalues.minCoeff();
  const T low = (noise_variance > floor ? noise_variance : floor) / (T(2.0) * math::from_count<T>(n));
  const T high = T(2.0) * (noise_variance + eigenvalues.sum()) / math::from_count<T>(n);
  return numerics::root_between<T>("centered_ridge_risk", imbalance, low, high);
}

}  // namespace detail

/// The risk of the ridge on the centered context for any covariances, by deterministic equivalent.
///
/// \f[ \kappa = \lambda + \frac{\kappa}{n}\sum_i \frac{e_i}{e_i + \kappa},\quad \lambda = \frac{\sigma^2}{n},\quad
///     n = l - 1,\quad r = \sigma^2 + \kappa\sum_i\frac{e_i}{e_i + \kappa} = n\kappa,\quad
///     e_i = \text{eigenvalues of } W^{1/2}\Sigma W^{1/2} \f]
/// \f[ \text{mean\_excess} = \kappa\,\mu_x^T(\Sigma + \kappa W^{-1})^{-1}\mu_x \f]
///
///     const auto ridge = regression::centered_ridge_risk_equivalent(task, 40);
///
/// Source    derived: docs/theory/regression.md#centered-ridge-risk; root by Boost.Math's TOMS 748.
/// Shapes    (task: d, context_length l) -> three scalars
/// Domain    l >= 2; float, double, long double and Boost.Multiprecision numbers.
/// Limits    no noise: kappa = 0 for d <= n, else the root of sum e / (e + kappa) = n. Isotropic task:
///           centered_ridge_risk_isotropic_limit. l -> infinity: sigma^2.
/// Errors    std::invalid_argument for l < 2.
/// Accuracy  60 eps of the risk, 120 eps of mean_excess for d <= 8 (tests/regression/centered_ridge_risk_50digits.cpp).
///           The equivalent differs from the finite risk by O(1/d): at d = 20 it is within 1-2%, near l = d up to 4.5%
///           below it (tests/regression/centered_ridge_risk.cpp).
template <Real T>
CenteredRidgeRiskEquivalent<T> centered_ridge_risk_equivalent(const LinearTask<T>& task, std::int64_t context_length) {
  require_context_length("centered_ridge_risk_equivalent", context_length);
  const Matrix<T> c = numerics::Cholesky<T>(task.task_covariance()).lower();
  const Matrix<T> whitened = product<T>(product<T>(c.transpose(), task.input_covariance()), c);
  const auto spectrum = numerics::symmetric_spectrum(whitened);
  // Eigenvalues below eps of the largest are rounding errors of either sign.
  const T negligible = Eigen::NumTraits<T>::epsilon() * spectrum.values.maxCoeff();
  const Vector<T> e = spectrum.values.cwiseMax(negligible);
  const T kappa = detail::effective_ridge<T>(e, task.noise_variance(), context_length - 1);
  const Vector<T> mean = spectrum.vectors.transpose() * (c.transpose() * task.input_mean());
  T mean_excess = T(0.0);
  for (Eigen::Index i = 0; i < e.size(); ++i) mean_excess += kappa / (e(i) + kappa) * mean(i) * mean(i);
  return {
      .effective_ridge = kappa, .risk = math::from_count<T>(context_length - 1) * kappa, .mean_excess = mean_excess};
}

INCONTEXT_COMPILED(regression_centered_ridge_risk, centered_ridge_risk_isotropic_limit<double>);
INCONTEXT_COMPILED(regression_centered_ridge_risk, centered_ridge_risk_equivalent<double>);

}  // namespace incontext::regression
