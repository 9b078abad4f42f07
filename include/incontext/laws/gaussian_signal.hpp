#pragma once

#include <cmath>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/quadrature.hpp"

/// Weight of one signal token among `noise_count` tokens with independent normal scores, and its complement. Scores
/// enter times the inverse temperature: `spread` = beta times the noise's standard deviation, `exponent` = beta m.
namespace incontext::laws {

namespace detail {

template <Real T>
void require_signal(std::string_view where, const T& noise_count, const T& spread, const T& exponent) {
  require_whole(where, "noise_count", noise_count, 1);
  require_non_negative(where, "spread", spread);
  require_finite(where, "exponent", exponent);
}

/// A point near the maximum in y = s + beta m: the signal's own scale, or where psi^n turns from 1 to 0 below it.
template <Real T>
T signal_start(const T& noise_count, const T& spread, const T& exponent) {
  const T turn = turning_point(noise_count, spread) + exponent;
  return turn < T(0) ? turn : T(0);
}

}  // namespace detail

/// Expected weight of a signal token of score m among N normal scores.
///
/// \f[ E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int ds\, F_1(s + \beta m)\, \psi(s)^N,\qquad F_1(y) = e^{y - e^y} \f]
///
/// Source    derived: docs/theory/laws.md#signal.
/// Units     dimensionless.
/// Domain    noise_count >= 1 and whole, spread >= 0, exponent finite.
/// Limits    spread = 0: 1 / (1 + N e^(-beta m)). Never below 1 / (1 + N e^(x^2/2 - beta m)).
/// Errors    std::domain_error; QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_signal.cpp, precision_slow.cpp. Near 1, noise_weight keeps the digits.
/// Runs on   host
template <Real T>
Quadrature<T> signal_weight(const Count<T>& noise_count, const T& spread, const T& exponent) {
  const T& n = noise_count;
  detail::require_signal("laws::signal_weight", n, spread, exponent);
  return detail::signal_integral<T>("laws::signal_weight", detail::NormalScores<T>(spread), n, exponent,
                                    detail::signal_start(n, spread, exponent));
}

/// Expected weight of all the noise together, without cancellation where it is small.
///
/// \f[ 1 - E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int ds\, F_1(s + \beta m)\, (1 - \psi(s)^N) \f]
///
/// Source    derived: docs/theory/laws.md#signal.
/// Units     dimensionless.
/// Domain    as signal_weight.
/// Limits    beta m -> infinity: N e^(x^2/2 - beta m).
/// Errors    std::domain_error; QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_signal.cpp, precision_slow.cpp.
/// Runs on   host
template <Real T>
Quadrature<T> noise_weight(const Count<T>& noise_count, const T& spread, const T& exponent) {
  const T& n = noise_count;
  detail::require_signal("laws::noise_weight", n, spread, exponent);
  return detail::noise_integral<T>("laws::noise_weight", detail::NormalScores<T>(spread), n, exponent);
}

/// A needle whose own score is normal, among noise_count tokens whose scores are normal too.
///
/// Units     dimensionless: scores times the inverse temperature beta. noise_stddev = x is the noise's standard
///           deviation, gap = beta m the mean of the needle's score above the noise's, gap_stddev = beta sqrt(v_s) the
///           standard deviation of the needle's score.
/// Domain    noise_count >= 1 and whole, both standard deviations >= 0, gap finite.
/// Runs on   host
template <Real T = double>
struct RandomNeedle {
  Count<T> noise_count;
  T noise_stddev;
  T gap;
  T gap_stddev;
};

/// Expected weight of a needle whose own score is normal, N(m, v_s), independent of the noise.
///
/// \f[ \int ds\, E_g F_1(s + \beta m + \beta \sqrt{v_s}\, g)\, \psi(s)^N \f]
///
///     const laws::RandomNeedle<double> needle{.noise_count = 64, .noise_stddev = 1, .gap = 5, .gap_stddev = 0.5};
///     const double weight = laws::random_signal_weight(needle).value;
///
/// Source    derived: docs/theory/laws.md#signal.
/// Units     dimensionless.
/// Domain    as RandomNeedle.
/// Limits    gap_stddev = 0: signal_weight; a needle with the noise's own law: 1 / (N + 1).
/// Errors    std::domain_error; QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_signal.cpp, precision_slow.cpp.
/// Runs on   host
template <Real T>
Quadrature<T> random_signal_weight(const RandomNeedle<T>& needle) {
  using std::log;
  constexpr auto where = "laws::random_signal_weight";
  const T& n = needle.noise_count;
  detail::require_whole(where, "noise_count", n, 1);
  require_non_negative(where, "noise_stddev", needle.noise_stddev);
  require_finite(where, "gap", needle.gap);
  require_non_negative(where, "gap_stddev", needle.gap_stddev);
  const detail::NormalScores<T> noise(needle.noise_stddev), signal(needle.gap_stddev);
  const auto log_density = [&](const T& y) {
    const T s = y - needle.gap;
    if (needle.gap_stddev <= needle.noise_stddev) return T(log(signal.first(y)) + n * noise.log_psi(s));
    // by parts, so that the narrower law is the one that is differentiated
    const T density = log(T(n * noise.first(s))) + (n - T(1)) * noise.log_psi(s);
    return T(log(y <= T(0) ? signal.complement(y) : T(T(1) - signal.psi(y))) + density);
  };
  return integrate_log_concave<T>(where, log_density, detail::signal_start(n, needle.noise_stddev, needle.gap));
}

/// Jensen's lower bound of signal_weight, exact for spread = 0.
///
/// \f[ \frac{1}{1 + N e^{x^2/2 - \beta m}} \f]
///
/// Source    derived: docs/theory/laws.md#signal; the weight is convex in Z, and E Z_N = N e^(x^2/2).
/// Units     dimensionless.
/// Domain    as signal_weight.
/// Limits    spread = 0: the weight itself.
/// Errors    std::domain_error.
/// Accuracy  8 eps (1 + log N + x^2/2 + |beta m|) relative: tests/laws/gaussian_signal.cpp.
/// Runs on   host
template <Real T>
T signal_weight_annealed(const Count<T>& noise_count, const T& spread, const T& exponent) {
  const T& n = noise_count;
  using std::exp;
  using std::log;
  detail::require_signal("laws::signal_weight_annealed", n, spread, exponent);
  const T surplus = exponent - log(n) - spread * spread / T(2);
  return surplus < T(0) ? T(exp(surplus) / (T(1) + exp(surplus))) : T(T(1) / (T(1) + exp(T(-surplus))));
}

/// Leading order of noise_weight for a strong signal.
///
/// \f[ N e^{x^2/2 - \beta m} \f]
///
/// Source    derived: docs/theory/laws.md#signal; E Z_N e^(-beta m).
/// Units     dimensionless.
/// Domain    as signal_weight; an upper bound everywhere.
/// Limits    beta m -> infinity: noise_weight.
/// Errors    std::domain_error.
/// Accuracy  4 eps (1 + log N + x^2/2 + |beta m|) relative: tests/laws/gaussian_signal.cpp.
/// Runs on   host
template <Real T>
T noise_weight_leading_order(const Count<T>& noise_count, const T& spread, const T& exponent) {
  const T& n = noise_count;
  using std::exp;
  detail::require_signal("laws::noise_weight_leading_order", n, spread, exponent);
  return n * exp(T(spread * spread / T(2) - exponent));
}

}  // namespace incontext::laws
