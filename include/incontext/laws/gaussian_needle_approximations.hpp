#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Approximations of laws/gaussian_needle.hpp, each for one phase. The accuracies are the largest errors over all gaps
/// at N = 1000, at a given theta = x / critical_score_stddev(N). The exact weight costs a few milliseconds.
namespace incontext::laws {

namespace detail {

template <Real T>
T logistic(const T& gap) {
  using std::exp;
  if (gap < T(0)) return exp(gap) / (T(1) + exp(gap));
  return T(1) / (T(1) + exp(T(-gap)));
}

}  // namespace detail

/// The weight of the needle with Z replaced by e^(E log Z) (quenched): good up to theta = 1.
///
/// \f[ \frac{1}{1 + e^{E \log Z_N - \beta m}} \f]
///
/// Source    derived: docs/theory/laws.md#needle-approximations.
/// Units     log_partition = E log Z of the noise alone, gaussian_row(N, x).log_partition, in nats.
/// Domain    finite arguments.
/// Limits    noise_stddev = 0: exact.
/// Errors    std::domain_error for log_partition or gap outside the domain.
/// Accuracy  at theta = 0.2, 0.6, 1: 3e-5, 0.003, 0.03: tests/laws/gaussian_needle_approximations.cpp.
template <Real T>
T needle_weight_quenched(const T& log_partition, const T& gap) {
  require_finite("laws::needle_weight_quenched", "log_partition", log_partition);
  require_finite("laws::needle_weight_quenched", "gap", gap);
  return detail::logistic(T(gap - log_partition));
}

/// The weight of the needle with Z replaced by its mean (annealed), and the next order in the variance of Z.
///
/// \f[ p + p (1 - p)^2 \frac{e^{x^2} - 1}{N},\qquad p = \frac{1}{1 + N e^{x^2/2 - \beta m}} \f]
///
/// Source    derived: docs/theory/laws.md#needle-approximations.
/// Domain    as needle_weight; meaningful for theta < 1/2.
/// Limits    noise_stddev = 0: exact.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain; the result may exceed 1 in
///           the frozen phase.
/// Accuracy  at theta = 0.2, 0.4: 1e-7, 6e-5: tests/laws/gaussian_needle_approximations.cpp.
template <Real T>
T needle_weight_second_order(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  const T p = needle_weight_annealed(n, noise_stddev, gap);
  const T rest = detail::logistic(T(annealed_log_partition(n, noise_stddev) - gap));
  return p + p * rest * rest * math::exp_minus_one(T(noise_stddev * noise_stddev)) / n;
}

/// The weight of the needle with Z replaced by a log-normal variable of its mean and variance (Fenton, Wilkinson).
///
/// \f[ \int dg\,\varphi(g)\, \frac{1}{1 + e^{\mu + \sigma g - \beta m}},\quad
///     \sigma^2 = \log\Bigl(1 + \frac{e^{x^2} - 1}{N}\Bigr),\quad \mu = \log N + \frac{x^2 - \sigma^2}{2} \f]
///
/// Source    derived: docs/theory/laws.md#needle-approximations; Fenton 1960.
/// Domain    as needle_weight; noise_stddev below 18, where e^(x^2) overflows float at 9.
/// Limits    N = 1 or noise_stddev = 0: exact.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain; numerics::QuadratureError.
/// Accuracy  at theta = 0.2, 0.4, 0.6: 1e-7, 5e-5, 0.01: tests/laws/gaussian_needle_approximations.cpp.
template <Real T>
numerics::Quadrature<T> needle_weight_log_normal(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  using std::log;
  using std::sqrt;
  detail::require_needle("laws::needle_weight_log_normal", n, noise_stddev, gap);
  const T variance = math::log_one_plus(T(math::exp_minus_one(T(noise_stddev * noise_stddev)) / n));
  const T mean = annealed_log_partition(n, noise_stddev) - variance / T(2), stddev = sqrt(variance);
  const T normalization = log(T(T(2) * boost::math::constants::pi<T>())) / T(2);
  return integrate_log_concave<T>(
      "laws::needle_weight_log_normal",
      [&](const T& g) { return T(log(detail::logistic(T(gap - mean - stddev * g))) - g * g / T(2) - normalization); },
      T(0));
}

/// The weight of the needle with Z replaced by the stable law of its largest terms: good in the frozen phase.
///
/// \f[ \int ds\, F_1(s)\, \exp\bigl(-\Gamma(1 - m_*)\, e^{m_* (s - \beta m + x b)}\bigr) \f]
///
/// m_* = h / x is the index of frozen_row(N, x) and b its quantile; F_1(s) = e^(s - e^s).
///
/// Source    derived: docs/theory/laws.md#needle-approximations.
/// Domain    as frozen_row.
/// Limits    noise_stddev -> infinity at fixed m: Phi(m / sqrt(v))^N up to the law of extremes.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain; numerics::QuadratureError.
/// Accuracy  at theta = 1.1, 1.5, 2.5: 0.13, 0.035, 0.017: tests/laws/gaussian_needle_approximations.cpp.
template <Real T>
numerics::Quadrature<T> needle_weight_stable(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  using std::exp;
  detail::require_needle("laws::needle_weight_stable", n, noise_stddev, gap);
  const auto frozen = frozen_row(n, noise_stddev);
  const T tail = boost::math::tgamma(T(T(1) - frozen.index));
  return integrate_log_concave<T>(
      "laws::needle_weight_stable",
      [&](const T& s) {
        const T above = s - gap + noise_stddev * frozen.quantile;
        return T(detail::log_gumbel(s) - tail * exp(T(frozen.index * above)));
      },
      T(0));
}

/// Probability that the needle has the largest score. This is its expected weight at infinite inverse temperature.
///
/// \f[ \Phi\Bigl(\frac{m}{\sqrt v}\Bigr)^N = \Phi\Bigl(\frac{\beta m}{x}\Bigr)^N \f]
///
/// Source    derived: docs/theory/laws.md#needle-approximations.
/// Domain    as needle_weight, noise_stddev > 0.
/// Limits    noise_stddev -> infinity at fixed m / sqrt(v): exact.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain.
/// Accuracy  at theta = 1.5, 2.5: 0.16, 0.06: tests/laws/gaussian_needle_approximations.cpp.
template <Real T>
T needle_weight_largest(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  using std::exp;
  detail::require_needle("laws::needle_weight_largest", n, noise_stddev, gap);
  require_positive("laws::needle_weight_largest", "noise_stddev", noise_stddev);
  return exp(T(n * math::log_one_plus(T(-math::normal_tail(T(gap / noise_stddev))))));
}

INCONTEXT_COMPILED(laws_gaussian_needle_approximations, needle_weight_quenched<double>);
INCONTEXT_COMPILED(laws_gaussian_needle_approximations, needle_weight_second_order<double>);
INCONTEXT_COMPILED(laws_gaussian_needle_approximations, needle_weight_log_normal<double>);
INCONTEXT_COMPILED(laws_gaussian_needle_approximations, needle_weight_stable<double>);
INCONTEXT_COMPILED(laws_gaussian_needle_approximations, needle_weight_largest<double>);

}  // namespace incontext::laws
