#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <concepts>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"

/// Limits of a softmax row of n independent normal scores for large n. Everything depends on x = beta sqrt(v), the
/// standard deviation of the scores times the inverse temperature, through theta = x / x_c with x_c = sqrt(2 log n).
/// The powers of n are reached only as fast as log n grows; the exact rows are in gaussian_row.hpp.
namespace incontext::laws {

/// The value x_c = beta_c sqrt(v) above which a few of the largest scores have all the weight.
///
/// \f[ x_c = \sqrt{2 \log n} \f]
///
/// Source    Derrida 1981.
/// Domain    row_length >= 1.
/// Limits    row_length = 1: 0.
/// Errors    std::domain_error for row_length outside the domain.
/// Accuracy  4 eps relative: tests/laws/gaussian_asymptotics.cpp.
template <class N, Real T = RealOf<N>>
  requires std::convertible_to<const N&, CountOf<T>>
T critical_score_stddev(const N& row_length) {
  using std::log;
  using std::sqrt;
  const T n = CountOf<T>(row_length);
  detail::require_count("laws::critical_score_stddev", "row_length", n);
  return sqrt(T(T(2) * log(n)));
}

/// log E Z, the annealed value of log Z and an upper bound of E log Z.
///
/// \f[ \log E Z = \log n + \frac{x^2}{2} \f]
///
/// Source    derived: docs/theory/laws.md#asymptotics.
/// Units     nats.
/// Domain    row_length >= 1, score_stddev >= 0.
/// Limits    theta < 1, n -> infinity: E log Z.
/// Errors    std::domain_error for row_length or score_stddev outside the domain.
/// Accuracy  of log E Z, 4 eps relative: tests/laws/gaussian_asymptotics.cpp; it exceeds E log Z by about
///           (e^(x^2) - 1) / (2 n) where that is small, and by any amount beyond theta = 1.
template <Real T>
T annealed_log_partition(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  using std::log;
  detail::require_count("laws::annealed_log_partition", "row_length", n);
  require_non_negative("laws::annealed_log_partition", "score_stddev", score_stddev);
  return log(n) + score_stddev * score_stddev / T(2);
}

/// Leading order of E log Z for n -> infinity at fixed theta.
///
/// \f[ \log n + \frac{x^2}{2}\ (\theta < 1),\qquad x\, x_c\ (\theta \ge 1) \f]
///
/// Source    Derrida 1981.
/// Units     nats.
/// Domain    row_length >= 1, score_stddev >= 0.
/// Limits    continuous with its derivative at theta = 1.
/// Errors    std::domain_error for row_length or score_stddev outside the domain.
/// Accuracy  leading order: for theta in 1.25 ... 3 more than 1 too large at n = 1e2 to 1e9, within 5% of E log Z at
///           n = 1e12: tests/laws/gaussian_asymptotics.cpp.
template <Real T>
T quenched_log_partition(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  const T critical = critical_score_stddev(n);
  if (score_stddev < critical) return annealed_log_partition(n, score_stddev);
  require_non_negative("laws::quenched_log_partition", "score_stddev", score_stddev);
  return score_stddev * critical;
}

/// Leading order of the entropy for n -> infinity at fixed theta.
///
/// \f[ \log n - \frac{x^2}{2}\ (\theta < 1),\qquad 0\ (\theta \ge 1) \f]
///
/// Source    Derrida 1981; above theta = 1 the entropy is of order 1, poisson_dirichlet_entropy.
/// Units     nats.
/// Domain    row_length >= 1, score_stddev >= 0.
/// Limits    score_stddev = 0: log n.
/// Errors    std::domain_error for row_length or score_stddev outside the domain.
/// Accuracy  leading order, within 1% of E H at n = 1e9 for theta <= 0.5: tests/laws/gaussian_asymptotics.cpp.
template <Real T>
T quenched_entropy(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  using std::log;
  const T critical = critical_score_stddev(n);
  require_non_negative("laws::quenched_entropy", "score_stddev", score_stddev);
  return score_stddev < critical ? T(log(n) - score_stddev * score_stddev / T(2)) : T(0);
}

/// The inverse participation ratio Y_2 with Z replaced by its mean (annealed).
///
/// \f[ Y_2 \approx \frac{e^{x^2}}{n} \f]
///
/// Source    derived: docs/theory/laws.md#asymptotics.
/// Domain    row_length >= 1, score_stddev >= 0; meaningful for theta < 1/sqrt(3).
/// Limits    score_stddev = 0: 1/n.
/// Errors    std::domain_error for row_length or score_stddev outside the domain; infinity on overflow.
/// Accuracy  useless for theta > 1/sqrt(3), where it exceeds 1: tests/laws/gaussian_asymptotics.cpp.
template <Real T>
T annealed_ipr(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  using std::exp;
  detail::require_count("laws::annealed_ipr", "row_length", n);
  require_non_negative("laws::annealed_ipr", "score_stddev", score_stddev);
  return exp(T(score_stddev * score_stddev)) / n;
}

/// The powers of n with which the quantities of a row at theta = x / x_c fall: quantity = n^-power.
template <Real T>
struct GaussianPowers {
  T mean_ipr;         ///< of E Y_2, which rare rows dominate for 1/sqrt(3) < theta < 1
  T typical_ipr;      ///< of Y_2 in a typical row
  T typical_largest;  ///< of the largest weight in a typical row
};

/// The powers of n with which weights fall below the critical inverse temperature.
///
/// \f[ E Y_2: 1 - 2\theta^2\ (\theta < 1/\sqrt3),\ \tfrac14 (\tfrac1\theta - \theta)^2\ (\theta < 1);\quad
///     Y_2: 1 - 2\theta^2\ (\theta < \tfrac12),\ 2 (1 - \theta)^2\ (\theta < 1);\quad \max a: (1 - \theta)^2 \f]
///
/// Source    derived: docs/theory/laws.md#asymptotics.
/// Units     theta = score_stddev / critical_score_stddev(n).
/// Domain    theta >= 0.
/// Limits    theta >= 1: all 0.
/// Errors    std::domain_error for theta outside the domain.
/// Accuracy  of E Y_2: the exact row's slope between n = 1e12 and 1e15 agrees within 0.01 for theta <= 0.5 and 0.05 for
///           0.65 and 0.8: tests/laws/gaussian_asymptotics.cpp. The typical powers are of leading order and not tested.
template <Real T>
GaussianPowers<T> gaussian_powers(const T& theta) {
  require_non_negative("laws::gaussian_powers", "theta", theta);
  if (T(1) <= theta) return {T(0), T(0), T(0)};
  const T square = theta * theta, left = T(1) - theta;
  const T annealed = T(1) - T(2) * square;
  GaussianPowers<T> powers{annealed, annealed, left * left};
  if (T(1) < T(3) * square) powers.mean_ipr = (T(1) - square) * (T(1) - square) / (T(4) * square);
  if (T(0.5) < theta) powers.typical_ipr = T(2) * left * left;
  return powers;
}

/// A frozen row at finite n: the Poisson-Dirichlet index and what follows from it.
///
/// Units     log_partition in nats, the rest dimensionless.
template <Real T>
struct FrozenRow {
  T quantile;       ///< b, exceeded by one score in n
  T index;          ///< m = h / x
  T log_partition;  ///< E log Z
  T ipr;            ///< Y_2
};

/// Extreme-value approximation of a frozen row: its largest scores as a Poisson process.
///
/// \f[ b = \Phi^{-1}(1 - \tfrac1n),\quad h = n \varphi(b),\quad m = \frac{h}{x},\quad
///     E \log Z \approx x b + \frac{\log\Gamma(1 - m) + \gamma (1 - m)}{m},\quad Y_2 \approx 1 - m \f]
///
/// Source    derived: docs/theory/laws.md#asymptotics; gamma is Euler's constant.
/// Domain    row_length >= 2, score_stddev > h.
/// Limits    score_stddev -> infinity: E log Z / x -> b + gamma / h.
/// Errors    std::domain_error for row_length or score_stddev outside the domain.
/// Accuracy  theta in 1.25 ... 3, n from 1e2 to 1e9: E log Z too large by at most 0.45; Y_2 too small, by at most 0.11
///           and, from n = 1e6 on, 0.05: tests/laws/gaussian_asymptotics.cpp.
template <Real T>
FrozenRow<T> frozen_row(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  using std::exp;
  using std::sqrt;
  detail::require_count("laws::frozen_row", "row_length", n, 2);
  const T pi = boost::math::constants::pi<T>(), euler = boost::math::constants::euler<T>();
  FrozenRow<T> row{};
  row.quantile = sqrt(T(2)) * boost::math::erfc_inv(T(T(2) / n));
  const T hazard = n * exp(T(-row.quantile * row.quantile / T(2))) / sqrt(T(2) * pi);
  if (!(hazard < score_stddev && math::is_finite(score_stddev))) {
    throw_domain_error("laws::frozen_row", "score_stddev is not in the frozen phase", score_stddev,
                       "more than n phi(b)");
  }
  row.index = hazard / score_stddev;
  const T rest = T(1) - row.index;
  row.log_partition = score_stddev * row.quantile + (boost::math::lgamma(rest) + euler * rest) / row.index;
  row.ipr = rest;
  return row;
}

}  // namespace incontext::laws
