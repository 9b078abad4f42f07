#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/lattice_row.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Weight of one needle among `noise_count` tokens with independent normal scores, and the weight of all the others.
/// Scores enter times the inverse temperature: `noise_stddev` = beta times the noise's standard deviation, and
/// `gap` = beta m. In the formulas, psi(s) is the mean of exp(-e^(s + x g)) over a standard normal g, with
/// x = `noise_stddev`, and Z_N is the sum of e^(x g_j) over the noise.
namespace incontext::laws {

namespace detail {

template <Real T>
void require_needle(std::string_view where, const T& noise_count, const T& noise_stddev, const T& gap) {
  require_whole(where, "noise_count", noise_count, 1);
  require_width(where, "noise_stddev", noise_stddev, 1e11);
  require_finite(where, "gap", gap);
}

/// A point near the maximum of the integrand in y = s + beta m: 0, where F_1 has its maximum, or, if that is less,
/// where psi^n turns from 1 to 0.
template <Real T>
T needle_start(const T& noise_count, const T& noise_stddev, const T& gap) {
  const T turn = turning_point(noise_count, noise_stddev) + gap;
  return turn < T(0) ? turn : T(0);
}

/// A share E[X / Z^2] = int ds e^(2 s) E[X e^(-e^s Z)] of Z, the weights of the needle and the noise together. The
/// integrand is called with e^y, N T_1, N T_2 and log psi, where y = s + gap, and its value is multiplied by e^-e^y.
/// log_noise is the logarithm of E[X Z] / E[X] without the needle's weight.
template <Real T, class Integrand>
numerics::Quadrature<T> needle_on_lattice(const T& noise_count, const T& noise_stddev, const T& gap, const T& log_noise,
                                          const Integrand& integrand) {
  using std::exp;
  using std::log;
  const T part = log(negligible_part<T>()) / T(2);
  const T first_y = part - log_sum(T(0), T(log_noise - gap)), start = part - log_sum(gap, log_noise);
  const auto scores = scores_of_row(noise_count, noise_stddev, start, 2);
  const T lowest_y = (std::min)(lowest_exponent(noise_count), T(start + scores.lower * noise_stddev));
  ScoreLattice<T> lattice(noise_stddev, row_step<T>(2), start, scores, lowest_y);
  const T length = (std::min)(lattice.length(), T(ScoreLattice<T>::highest_exponent() - first_y));
  T sum = T(0), rounding = T(0);
  for_each_s(lattice, length, [&] {
    T first = T(0), second = T(0);
    const T log_psi = lattice([&](const T&, const T& weight, const auto& kernel) {
      const T one = weight * kernel.t * kernel.survives;
      first += one;
      second += one * kernel.t;
    });
    const T needle = exp(T(first_y + lattice.offset()));
    const T value = exp(T(-needle)) * integrand(needle, T(noise_count * first), T(noise_count * second), log_psi);
    sum += value;
    rounding += value * (T(1) + needle - noise_count * log_psi);  // of the exponents, relative to eps
    return value;
  });
  const T step = lattice.step();
  return {(std::min)(T(1), T(sum * step)), T(rounding * step * T(std::numeric_limits<T>::epsilon()))};
}

}  // namespace detail

/// Expected weight of a needle of score m among N independent normal scores.
///
/// \f[ E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int ds\, F_1(s + \beta m)\, \psi(s)^N,\qquad F_1(y) = e^{y - e^y} \f]
///
/// The parameters are scores times the inverse temperature beta: noise_stddev = x is beta times the standard deviation
/// of the noise, and gap = beta m is beta times the needle's score above the noise's mean. For noise_stddev up to 8 an
/// equal integral is taken, that for 1 / Z^2, on a lattice.
///
/// Source    derived: docs/theory/laws.md#needle.
/// Domain    noise_count >= 1 and whole, 0 <= noise_stddev <= 1e11, gap finite.
/// Limits    noise_stddev = 0: 1 / (1 + N e^(-beta m)). Never below 1 / (1 + N e^(x^2/2 - beta m)) (Jensen).
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_needle.cpp, precision_slow.cpp. Where the weight is close to 1,
///           noise_weight keeps the digits of what is left.
template <Real T>
numerics::Quadrature<T> needle_weight(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  detail::require_needle("laws::needle_weight", n, noise_stddev, gap);
  if (noise_stddev <= detail::widest_on_lattice<T>()) {
    const detail::RowOf<T> noise(n);
    return detail::needle_on_lattice(
        n, noise_stddev, gap, detail::log_mean_sum(n, noise_stddev),
        [&](const T& needle, const T& first, const T&, const T& log_psi) {
          return T(needle * (needle * noise.others(log_psi, 0) + first * noise.others(log_psi, 1)));
        });
  }
  return detail::needle_integral<T>("laws::needle_weight", detail::NormalScores<T>(noise_stddev), n, gap,
                                    detail::needle_start(n, noise_stddev, gap));
}

/// Expected weight of all the noise together, without cancellation where it is small.
///
/// \f[ 1 - E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int ds\, F_1(s + \beta m)\, (1 - \psi(s)^N) \f]
///
/// It is integrated as needle_weight is.
///
/// Source    derived: docs/theory/laws.md#needle.
/// Domain    as needle_weight.
/// Limits    beta m -> infinity: N e^(x^2/2 - beta m).
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_needle.cpp, precision_slow.cpp.
template <Real T>
numerics::Quadrature<T> noise_weight(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  detail::require_needle("laws::noise_weight", n, noise_stddev, gap);
  if (noise_stddev <= detail::widest_on_lattice<T>()) {
    const detail::RowOf<T> noise(n);
    const T pairs = noise.distinct(2), own = T(1.5) * noise_stddev * noise_stddev;
    const T log_noise = detail::log_sum(detail::log_mean_sum(n, noise_stddev), own);
    return detail::needle_on_lattice(n, noise_stddev, gap, log_noise,
                                     [&](const T& needle, const T& first, const T& second, const T& log_psi) {
                                       return T((needle * first + second) * noise.others(log_psi, 1) +
                                                pairs * first * first * noise.others(log_psi, 2));
                                     });
  }
  return detail::noise_integral<T>("laws::noise_weight", detail::NormalScores<T>(noise_stddev), n, gap);
}

/// A needle whose own score is normal, among noise_count tokens whose scores are normal too.
///
/// Units     dimensionless: scores times the inverse temperature beta. noise_stddev = x is the noise's standard
///           deviation, gap = beta m the mean of the needle's score above the noise's, gap_stddev = beta sqrt(v_s) the
///           standard deviation of the needle's score.
/// Domain    noise_count >= 1 and whole, both standard deviations >= 0, gap finite.
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
///     const double weight = laws::random_needle_weight(needle).value;
///
/// Source    derived: docs/theory/laws.md#needle.
/// Domain    as RandomNeedle.
/// Limits    gap_stddev = 0: needle_weight; a needle with the noise's own law: 1 / (N + 1).
/// Errors    std::domain_error for a field of needle outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_needle.cpp, precision_slow.cpp.
template <Real T>
numerics::Quadrature<T> random_needle_weight(const RandomNeedle<T>& needle) {
  using std::log;
  constexpr auto where = "laws::random_needle_weight";
  const T& n = needle.noise_count;
  detail::require_whole(where, "noise_count", n, 1);
  require_non_negative(where, "noise_stddev", needle.noise_stddev);
  require_finite(where, "gap", needle.gap);
  require_non_negative(where, "gap_stddev", needle.gap_stddev);
  const detail::NormalScores<T> noise(needle.noise_stddev), own(needle.gap_stddev);
  const auto log_density = [&](const T& y) {
    const T s = y - needle.gap;
    if (needle.gap_stddev <= needle.noise_stddev) return T(log(own.first(y)) + n * noise.log_psi(s));
    // integrated by parts, so that the narrower of the two laws is differentiated
    const T density = log(T(n * noise.first(s))) + (n - T(1)) * noise.log_psi(s);
    return T(log(y <= T(0) ? own.complement(y) : T(T(1) - own.psi(y))) + density);
  };
  return integrate_log_concave<T>(where, log_density, detail::needle_start(n, needle.noise_stddev, needle.gap));
}

/// Jensen's lower bound of needle_weight, exact for noise_stddev = 0.
///
/// \f[ \frac{1}{1 + N e^{x^2/2 - \beta m}} \f]
///
/// Source    derived: docs/theory/laws.md#needle; the weight is convex in Z, and E Z_N = N e^(x^2/2).
/// Domain    as needle_weight.
/// Limits    noise_stddev = 0: the weight itself.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain.
/// Accuracy  8 eps (1 + log N + x^2/2 + |beta m|) relative: tests/laws/gaussian_needle.cpp.
template <Real T>
T needle_weight_annealed(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  using std::exp;
  using std::log;
  detail::require_needle("laws::needle_weight_annealed", n, noise_stddev, gap);
  const T surplus = gap - log(n) - noise_stddev * noise_stddev / T(2);
  return surplus < T(0) ? T(exp(surplus) / (T(1) + exp(surplus))) : T(T(1) / (T(1) + exp(T(-surplus))));
}

/// Leading order of noise_weight for a strong needle.
///
/// \f[ N e^{x^2/2 - \beta m} \f]
///
/// Source    derived: docs/theory/laws.md#needle; E Z_N e^(-beta m).
/// Domain    as needle_weight; an upper bound everywhere.
/// Limits    beta m -> infinity: noise_weight.
/// Errors    std::domain_error for noise_count, noise_stddev or gap outside the domain.
/// Accuracy  4 eps (1 + log N + x^2/2 + |beta m|) relative: tests/laws/gaussian_needle.cpp.
template <Real T>
T noise_weight_leading_order(const Count<T>& noise_count, const T& noise_stddev, const T& gap) {
  const T& n = noise_count;
  using std::exp;
  detail::require_needle("laws::noise_weight_leading_order", n, noise_stddev, gap);
  return n * exp(T(noise_stddev * noise_stddev / T(2) - gap));
}

INCONTEXT_COMPILED(laws_gaussian_needle, needle_weight<double>);
INCONTEXT_COMPILED(laws_gaussian_needle, noise_weight<double>);
INCONTEXT_COMPILED(laws_gaussian_needle, random_needle_weight<double>);
INCONTEXT_COMPILED(laws_gaussian_needle, needle_weight_annealed<double>);
INCONTEXT_COMPILED(laws_gaussian_needle, noise_weight_leading_order<double>);

}  // namespace incontext::laws
