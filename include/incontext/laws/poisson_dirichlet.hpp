#pragma once

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/zeta.hpp>
#include <cmath>
#include <limits>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Weights of a long frozen row. The weights of n -> infinity normal scores above the critical inverse temperature
/// beta_c = sqrt(2 log n / v) have the Poisson-Dirichlet law with parameter m = beta_c / beta.
namespace incontext::laws {

/// Expected sum of the k-th powers of the weights.
///
/// \f[ E \sum_j a_j^k = \frac{\Gamma(k - m)}{\Gamma(k) \Gamma(1 - m)} \f]
///
/// Source    Derrida 1981; derived: docs/theory/laws.md#poisson-dirichlet. k = 2: 1 - m.
/// Domain    0 < index < 1, power > index.
/// Limits    power = 1: 1.
/// Errors    std::domain_error for index or power outside the domain.
/// Accuracy  64 eps relative for powers up to 10: tests/laws/poisson_dirichlet.cpp.
template <Real T>
T poisson_dirichlet_power_sum(const T& index, const T& power) {
  detail::require_fraction("laws::poisson_dirichlet_power_sum", "index", index);
  if (!(index < power && math::is_finite(power))) {
    throw_domain_error("laws::poisson_dirichlet_power_sum", "power is not above index", power,
                       "index < value < infinity");
  }
  return boost::math::tgamma_delta_ratio(T(power - index), index) / boost::math::tgamma(T(T(1) - index));
}

/// Expected entropy of the weights.
///
/// \f[ E H = \psi(1) - \psi(1 - m) = \sum_{k \ge 1} \zeta(k + 1) m^k,\qquad \psi = \Gamma'/\Gamma \f]
///
/// Source    derived: docs/theory/laws.md#poisson-dirichlet; minus the derivative of the power sum at power 1. The
///           series is used below m = 1/4, where the difference would cancel.
/// Units     nats.
/// Domain    0 < index < 1.
/// Limits    index -> 0: 0; index -> 1: infinity.
/// Errors    std::domain_error for index outside the domain.
/// Accuracy  64 eps relative: tests/laws/poisson_dirichlet.cpp.
template <Real T>
T poisson_dirichlet_entropy(const T& index) {
  detail::require_fraction("laws::poisson_dirichlet_entropy", "index", index);
  if (T(0.25) < index) return boost::math::digamma(T(1)) - boost::math::digamma(T(T(1) - index));
  T sum = T(0);
  constexpr int last = std::numeric_limits<T>::digits / 2 + 2;  // (1/4)^last < eps
  for (int k = last; k >= 1; --k) sum = index * (boost::math::zeta(T(double(k + 1))) + sum);
  return sum;
}

/// Expected largest weight.
///
/// \f[ E \max_j a_j = \int_0^\infty \frac{e^{-t}}{\varphi_m(t)}\,dt,\qquad
///     \varphi_m(t) = e^{-t} + t^m \gamma(1 - m, t) \f]
///
/// Source    Pitman & Yor 1997; derived: docs/theory/laws.md#poisson-dirichlet; evaluated with t = e^u.
/// Domain    0 < index < 1.
/// Limits    index -> 0: 1; index -> 1: 0.
/// Errors    std::domain_error for index outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/poisson_dirichlet.cpp.
template <Real T>
numerics::Quadrature<T> poisson_dirichlet_largest(const T& index) {
  using std::exp;
  using std::log;
  using std::pow;
  detail::require_fraction("laws::poisson_dirichlet_largest", "index", index);
  const T digits = -log(T(std::numeric_limits<T>::epsilon()));
  const T low = log(T(T(1) - index)) - digits - T(4), high = log(T(digits + T(4)));
  return numerics::integrate_bump<T>("laws::poisson_dirichlet_largest", [&](const T& u) {
    const T t = exp(T(low + (high - low) * u));
    const T rest = exp(t) * pow(t, index) * boost::math::tgamma_lower(T(T(1) - index), t);
    return T((high - low) * t / (T(1) + rest));
  });
}

INCONTEXT_COMPILED(laws_poisson_dirichlet, poisson_dirichlet_power_sum<double>);
INCONTEXT_COMPILED(laws_poisson_dirichlet, poisson_dirichlet_entropy<double>);
INCONTEXT_COMPILED(laws_poisson_dirichlet, poisson_dirichlet_largest<double>);

}  // namespace incontext::laws
