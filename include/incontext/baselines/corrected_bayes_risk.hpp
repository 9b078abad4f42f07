#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/solve.hpp"

namespace incontext::baselines {

/// The Bayes risk for any covariances: a limit, the limit with its first correction, and a bound of what is left.
///
/// Units     label units squared.
template <Real T>
struct CorrectedBayesRisk {
  T limit;        ///< the deterministic equivalent, off by order 1/n
  T risk;         ///< with the correction of order 1/n
  T error_bound;  ///< of |risk - exact|, measured, not proved; above the risk where the correction is of no use
};

namespace detail {

/// q >= 0 with q (1 + sum_i 1 / (D_i + q)) = n for D_i = noise / e_i: noise over the effective ridge of
/// regression::centered_ridge_risk_equivalent, which takes covariances and a centered context.
template <Real T>
T stieltjes_root(const Eigen::Matrix<T, Eigen::Dynamic, 1>& ridges, std::int64_t examples) {
  const T n = math::from_count<T>(examples);
  const auto excess = [&](const T& q) {
    T sum = T(1);
    for (const T& ridge : ridges) sum += T(1) / (ridge + q);
    return T(q * sum - n);
  };
  // q is below n, because 1 + S_1 > 1, and q = n / (1 + S_1(q)) is at least n / (1 + sum 1 / D).
  T inverse_sum = T(1);
  for (const T& ridge : ridges) inverse_sum += T(1) / ridge;
  return numerics::root_between<T>("corrected_bayes_risk", excess, T(n / (T(2) * inverse_sum)), T(T(2) * n));
}

}  // namespace detail

/// The Bayes risk of in-context ridge regression for any covariances: the limit of large sizes and its first
/// correction.
///
/// \f[ \sigma^2\Bigl(1 + S_1 - \frac{\dot v}{2 (1 - v)}\Bigr),\quad q (1 + S_1) = n,\quad
///     S_p = \sum_i (D_i + q)^{-p},\quad D_i = \frac{\sigma^2}{e_i},\quad v = \frac{q^2 S_2}{n} \f]
/// \f[ \dot q = \frac{q S_2}{1 + S_1 - q S_2},\quad
///     \dot v = \frac{2 q \dot q S_2 - 2 q^2 S_3 (1 + \dot q)}{n} \f]
///
/// The correction is the derivative by D of the term of order 1 in the mean of log det (G^T G + D), which real Gaussian
/// matrices have and complex ones have not. Where all e_i are equal, bayes_risk is exact.
///
///     const auto floor = baselines::corrected_bayes_risk<double>(eigenvalues, 0.1, 40);
///
/// Source    the limit: docs/theory/regression.md#centered-ridge-risk; the correction: Bai and Silverstein 2004, the
///           mean of linear spectral statistics, differentiated: docs/theory/baselines.md#any-covariance.
/// Shapes    (eigenvalues of W^{1/2} Sigma W^{1/2}: d, examples) -> three scalars
/// Units     eigenvalues and noise_variance: label units squared.
/// Domain    eigenvalues > 0, noise_variance > 0, examples >= 1.
/// Limits    examples -> infinity: sigma^2, and the bound tends to 0.
/// Errors    std::domain_error for values, std::invalid_argument for no eigenvalue or no example.
/// Accuracy  |risk - exact| <= error_bound = 10 v / (n^2 (1 - v)^3) times sigma^2 S_1, the limit's part above the
///           noise: isotropic against the exact risk, d = 5 to 80, n / d = 0.3 to 10; power laws against simulation
///           (tests/baselines/corrected_bayes_risk.cpp). At d = n = 10, eigenvalues 1/i and noise 0.1
///           the risk is 1.1% off, and what it is above the noise 1.3%.
template <Real T>
CorrectedBayesRisk<T> corrected_bayes_risk(const Eigen::Matrix<T, Eigen::Dynamic, 1>& eigenvalues,
                                           const T& noise_variance, std::int64_t examples) {
  require_positive("corrected_bayes_risk", "noise_variance", noise_variance);
  require_at_least("corrected_bayes_risk", "examples", examples, std::int64_t{1});
  require_at_least("corrected_bayes_risk", "eigenvalues.size()", std::int64_t{eigenvalues.size()}, std::int64_t{1});
  for (Eigen::Index i = 0; i < eigenvalues.size(); ++i) {
    require_positive("corrected_bayes_risk", "eigenvalues[" + std::to_string(i) + "]", eigenvalues(i));
  }
  const Eigen::Matrix<T, Eigen::Dynamic, 1> ridges = noise_variance * eigenvalues.cwiseInverse();
  const T n = math::from_count<T>(examples);
  const T q = detail::stieltjes_root<T>(ridges, examples);
  T s1 = T(0), s2 = T(0), s3 = T(0);
  for (const T& ridge : ridges) {
    const T term = T(1) / (ridge + q);
    s1 += term;
    s2 += term * term;
    s3 += term * term * term;
  }
  const T v = q * q * s2 / n;
  const T q_slope = q * s2 / (T(1) + s1 - q * s2);
  const T v_slope = (T(2) * q * q_slope * s2 - T(2) * q * q * s3 * (T(1) + q_slope)) / n;
  const T learned = s1 - v_slope / (T(2) * (T(1) - v));
  const T spare = T(1) - v;
  return {.limit = noise_variance * (T(1) + s1),
          .risk = noise_variance * (T(1) + learned),
          .error_bound = noise_variance * s1 * T(10) * v / (n * n * spare * spare * spare)};
}

INCONTEXT_COMPILED(baselines_corrected_bayes_risk, corrected_bayes_risk<double>);

}  // namespace incontext::baselines
