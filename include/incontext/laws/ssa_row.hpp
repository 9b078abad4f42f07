#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/ssa_weights.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/ssa.hpp"

namespace incontext::laws {

/// Expectations over a row of SSA weights of n independent normal scores.
///
/// Units     log_partition in nats, the rest dimensionless.
template <Real T>
struct SsaRow {
  T mean_weight;     ///< E w of one unnormalized weight
  T squared_weight;  ///< E w^2
  T log_partition;   ///< E log Z, Z = sum w_j
  T ipr;             ///< Y_2 = E sum a^2
  T typical_ipr;     ///< E w^2 / (n (E w)^2), its limit for n -> infinity
  T error_estimate;  ///< the largest relative error estimate of the two integrals
};

namespace detail {

template <Real T>
SsaWeights<T> ssa_weights(std::string_view where, const scoring::SSA<T>& map, const T& variance) {
  using std::sqrt;
  scoring::validate(map);
  require_non_negative(where, "variance", variance);
  const T knee = map.base * sqrt(variance) / map.temperature;
  const T largest = SsaWeights<T>::largest_exponent(knee);
  if (!(map.exponent <= largest)) {
    throw_domain_error(where, "exponent is too large for this base and variance: the squared weights overflow",
                       map.exponent, "at most " + std::to_string(static_cast<double>(largest)));
  }
  return {knee, map.exponent};
}

}  // namespace detail

/// SSA on n independent normal scores of mean 0. All moments of w are finite, so it never freezes and always fades.
///
/// \f[ w = (1 + b|z|/\tau)^{\mathrm{sgn}(z) k},\quad Y_2 = n \int ds\, T_2(s) \psi(s)^{n-1},\quad
///     E \log Z = -\gamma - n \int ds\, s\, T_1(s) \psi(s)^{n-1} \f]
///
/// psi(s) = E e^-t and T_k(s) = E t^k e^-t are averages over one score, with t = e^s w; gamma is Euler's constant.
///
/// Source    derived: docs/theory/laws.md#ssa-row; n Y_2 -> E w^2 / (E w)^2.
/// Units     variance in units of the scores squared.
/// Domain    row_length = n >= 1 and whole, in double at most 1.3e145 (n^-2 underflows beyond); variance >= 0; map in
///           its domain, with w^2 finite at scores of 12 standard deviations.
/// Limits    row_length = 1: weight 1 and E log Z = 0; variance = 0: uniform weights.
/// Errors    std::domain_error for row_length, variance or map outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/ssa_row.cpp.
template <Real T>
SsaRow<T> ssa_row(const scoring::SSA<T>& map, const Count<T>& row_length, const T& variance) {
  const T& n = row_length;
  using std::log;
  detail::require_row("laws::ssa_row", "row_length", n, 2);
  const auto weights = detail::ssa_weights("laws::ssa_row", map, variance);
  SsaRow<T> r{};
  r.mean_weight = weights.moment(1);
  r.squared_weight = weights.moment(2);
  r.typical_ipr = r.squared_weight / (r.mean_weight * r.mean_weight) / n;
  if (n <= T(1)) {  // one weight, whose logarithm has mean 0, as it is odd in the score
    r.ipr = T(1);
    return r;
  }
  detail::IidRow<detail::SsaWeights<T>> row(weights, n, T(-log(T(n * r.mean_weight))));
  const auto ipr =
      row.integrate("laws::ssa_row", [&](const auto& m, const T&) { return T(n * m.second * row.others(m, 1)); });
  // s has the law of a Gumbel variable minus log Z
  const auto location = row.integrate("laws::ssa_row", [&](const auto& m, const T& s) {
    return T((s + boost::math::constants::euler<T>()) * n * m.first * row.others(m, 1));
  });
  r.ipr = ipr.value;
  r.log_partition = -location.value;
  const T relative = ipr.error_estimate / ipr.value;
  r.error_estimate = relative < location.error_estimate ? location.error_estimate : relative;
  return r;
}

/// Expected SSA weight of a needle of score m among N independent normal scores of mean 0.
///
/// \f[ \int ds\, F_1(s + \phi(m))\, \psi(s)^N \approx \frac{w(m)}{w(m) + N E w},\qquad \phi = \log w \f]
///
/// Source    derived: docs/theory/laws.md#needle.
/// Units     dimensionless.
/// Domain    as ssa_row; noise_count >= 1 and whole, score finite.
/// Limits    variance = 0: w(m) / (w(m) + N).
/// Errors    std::domain_error for noise_count, variance, map or score outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/ssa_row.cpp.
template <Real T>
numerics::Quadrature<T> ssa_needle_weight(const scoring::SSA<T>& map, const Count<T>& noise_count, const T& variance,
                                          const T& score) {
  const T& n = noise_count;
  using std::log;
  detail::require_whole("laws::ssa_needle_weight", "noise_count", n, 1);
  require_finite("laws::ssa_needle_weight", "score", score);
  const auto weights = detail::ssa_weights("laws::ssa_needle_weight", map, variance);
  const T exponent = map.elementwise(1).value(score);
  const T turn = exponent - log(T(n * weights.moment(1)));
  return detail::needle_integral<T>("laws::ssa_needle_weight", weights, n, exponent, turn);
}

}  // namespace incontext::laws
