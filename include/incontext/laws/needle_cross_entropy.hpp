#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/retrieval_threshold.hpp"
#include "incontext/laws/uniform_needle.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/numerics/solve.hpp"

/// The loss on which a layer learns its inverse temperature at one row length: the cross entropy -E log a of the weight
/// a of a needle among independent competitors, where the needle's score is normal. Its least value at every length is
/// what p_n of arXiv 2501.19399, Fig. 2 is a fit to.
namespace incontext::laws {

/// The needle's score, of a layer that finds it more or less well.
///
/// Units     of the scores.
template <Real T>
struct NormalNeedle {
  T mean, stddev;
};

/// Where the cross entropy is least, and how much is left.
///
/// Units     inverse_temperature in one over those of the scores; cross_entropy in nats.
template <Real T>
struct NeedleOptimum {
  T inverse_temperature, cross_entropy;
  numerics::SearchPlace place = numerics::SearchPlace::inside;  ///< `highest`: the largest that is accepted
};

/// Expected cross entropy -E log a of a needle's weight a among N independent competitors.
///
/// \f[ E \log\Bigl(1 + \sum_{j=1}^N e^{\beta (z_j - z_0)}\Bigr) = \int ds\, \psi_0(s) \bigl(1 - \psi(s)^N\bigr),\qquad
///     \psi(s) = E \exp(-e^{s + \beta z_j}),\quad \psi_0(s) = E \exp(-e^{s + \beta z_0}) \f]
///
/// It is convex in beta. If the density of the needle's score is that of a competitor's times e^(b z), softmax with
/// beta = b is Bayes' posterior and the cross entropy is least there, whatever N is: a needle N(m, v) among competitors
/// N(0, v) has b = m/v.
///
///     laws::needle_cross_entropy(laws::UniformLaw<double>{0, 1}, 1000, laws::NormalNeedle<double>{1.5, 0.5}, 12.0);
///
/// Source    derived: docs/theory/laws.md#needle-cross-entropy.
/// Shapes    (law: NormalLaw, UniformLaw or TwoValueLaw; N; needle; beta)
/// Units     nats.
/// Domain    noise_count >= 1 and whole, inverse_temperature >= 0, needle.stddev >= 0, their product at most 100 times
///           the larger of 1 and, for normal competitors, inverse_temperature times their standard deviation; two
///           values: N p >= 1.
/// Limits    inverse_temperature = 0: log(1 + N).
/// Errors    std::domain_error; numerics::QuadratureError.
/// Accuracy  1e-10 relative: tests/laws/needle_cross_entropy.cpp.
template <class Law, Real T = decltype(Law{}.cumulants({}))>
numerics::Quadrature<T> needle_cross_entropy(const Law& competitors, const Count<T>& noise_count,
                                             const NormalNeedle<T>& needle, const T& inverse_temperature);

/// The inverse temperature at which that cross entropy is least: the p_n that a layer learns at row length n = N + 1.
///
/// \f[ p_n = \arg\min_\beta E \log\Bigl(1 + \sum_{j=1}^{n-1} e^{\beta (z_j - z_0)}\Bigr) \f]
///
/// Fixed laws whose competitors have an upper edge below the needle's mean give p_n ~ a log n with a =
/// bounded_log_slope; unbounded normal competitors give a constant, m/v in the limit and at once for equal variances.
///
/// Source    derived: docs/theory/laws.md#needle-cross-entropy; Brent's minimization of a convex function.
/// Domain    as needle_cross_entropy; the least over the inverse temperatures that it accepts.
/// Limits    needle.mean at most the competitors': 0. stddev = 0 at or above an upper edge: infinity, and nothing is
///           left to be learnt (two values and a mean at the edge itself: the cross entropy keeps E log(1 + K)).
/// Errors    std::domain_error; numerics::QuadratureError.
/// Accuracy  1e-4 relative, cross_entropy 1e-8: tests/laws/needle_cross_entropy.cpp.
template <class Law, Real T = decltype(Law{}.cumulants({}))>
NeedleOptimum<T> optimal_needle_temperature(const Law& competitors, const Count<T>& noise_count,
                                            const NormalNeedle<T>& needle);

/// The slope a of p_n ~ a log n, n -> infinity, among competitors with an upper edge.
///
/// \f[ a = \frac1c,\qquad E[u;\ u < c] = 0,\qquad u = z_0 - z_+ \sim N(\mu, \sigma^2),\qquad
///     \frac{\varphi(t)}{\Phi(t)} = \frac\mu\sigma,\ c = \mu + \sigma t \f]
///
/// In long rows the needle is lost where u < c = log(n) / p_n and found beyond, and the best c makes the lost needles'
/// mean excess 0. Competitors of density near the edge lag behind by log log n, as their threshold does.
///
/// Source    derived: docs/theory/laws.md#needle-cross-entropy; root by Boost.Math's TOMS 748.
/// Units     one over those of the scores.
/// Domain    edge < needle.mean, 0 < needle.stddev, at most 30 standard deviations between them.
/// Limits    sigma << mu: mu / sigma^2; mu -> 0: 0.
/// Errors    std::domain_error.
/// Accuracy  64 eps (1 + mu^2/sigma^2): tests/laws/needle_cross_entropy.cpp.
template <Real T>
T bounded_log_slope(const NormalNeedle<T>& needle, const T& edge) {
  using std::exp;
  using std::sqrt;
  constexpr std::string_view where = "laws::bounded_log_slope";
  require_positive(where, "needle.stddev", needle.stddev);
  require_positive(where, "needle.mean - edge", T(needle.mean - edge));
  const T ratio = (needle.mean - edge) / needle.stddev;
  if (T(30) < ratio) throw_domain_error(where, "the needle is too far above the edge", ratio, "at most 30");
  const auto surplus = [&](const T& t) {
    const T density = exp(T(-t * t / T(2))) / sqrt(T(T(2) * math::pi<T>()));
    return T(density - ratio * math::normal_tail(T(-t)));
  };
  const T at = numerics::root_between<T>(where, surplus, T(-ratio - T(1)), T(40), {.scale = T(1)});
  return T(1) / (needle.stddev * (ratio + at));
}

// The laws of a needle's competitors at one inverse temperature.
namespace detail {

/// log E exp(-e^(s + y)), y one of two values: `span` with probability p, else 0.
template <Real T>
class TwoValueScores {
 public:
  TwoValueScores(const T& span, const T& probability) : span_(span), probability_(probability) {}

  T log_psi(const T& s) const {
    using std::exp;
    using std::log;
    const T low = exp(s), high = exp(T(s + span_)), rest = T(1) - probability_;
    const T complement = -probability_ * math::exp_minus_one(T(-high)) - rest * math::exp_minus_one(T(-low));
    if (complement < T(0.5)) return math::log_one_plus(T(-complement));
    return log(T(rest + probability_ * exp(T(low - high)))) - low;
  }

 private:
  T span_, probability_;
};

/// A law's scores times beta, counted from `origin`, with the law's mean and upper edge, and how far the upper end of
/// the scores times beta is spread: 0 at an edge.
template <class Scores, class T>
struct Competitors {
  Scores scores;
  T origin, mean, edge, spread;
};

/// How much wider than that spread, or than 1, a needle's scores may be. Its cross entropy has a step there, and no
/// rule resolves one that is narrower.
inline constexpr double widest_needle = 100;

template <Real T>
Competitors<NormalScores<T>, T> competitors_at(std::string_view where, const NormalLaw<T>& law, const T& beta) {
  using std::sqrt;
  require_non_negative(where, "variance", law.variance);
  const T spread = beta * sqrt(law.variance);
  return {NormalScores<T>(spread), T(0), T(0), std::numeric_limits<T>::infinity(), spread};
}

template <Real T>
Competitors<UniformScores<T>, T> competitors_at(std::string_view where, const UniformLaw<T>& law, const T& beta) {
  require_finite(where, "lower", law.lower);
  require_non_negative(where, "upper - lower", T(law.upper - law.lower));
  return {UniformScores<T>(T(beta * (law.upper - law.lower))), T(beta * law.lower), T((law.lower + law.upper) / T(2)),
          law.upper, T(0)};
}

template <Real T>
Competitors<TwoValueScores<T>, T> competitors_at(std::string_view where, const TwoValueLaw<T>& law, const T& beta) {
  require_finite(where, "lower", law.lower);
  require_non_negative(where, "upper - lower", T(law.upper - law.lower));
  require_fraction(where, "probability", law.probability);
  const T width = law.upper - law.lower;
  return {TwoValueScores<T>(T(beta * width), law.probability), T(beta * law.lower),
          T(law.lower + law.probability * width), law.upper, T(0)};
}

}  // namespace detail

template <class Law, Real T>
numerics::Quadrature<T> needle_cross_entropy(const Law& competitors, const Count<T>& noise_count,
                                             const NormalNeedle<T>& needle, const T& inverse_temperature) {
  using std::log;
  constexpr std::string_view where = "laws::needle_cross_entropy";
  const T &n = noise_count, &beta = inverse_temperature;
  detail::require_whole(where, "noise_count", n, 1);
  require_non_negative(where, "inverse_temperature", beta);
  require_finite(where, "needle.mean", needle.mean);
  require_non_negative(where, "needle.stddev", needle.stddev);
  if constexpr (requires { competitors.probability; }) {
    const T expected = n * competitors.probability;
    if (expected < T(1)) {
      throw_domain_error(where, "too few competitors of the upper value are expected", expected, "N p >= 1");
    }
  }
  const auto others = detail::competitors_at(where, competitors, beta);
  const T step = T(1) < others.spread ? others.spread : T(1);
  detail::require_width(where, "inverse_temperature times needle.stddev", T(beta * needle.stddev),
                        detail::widest_needle * static_cast<double>(step));
  const detail::NormalScores<T> own(T(beta * needle.stddev));
  const T place = beta * needle.mean;
  const auto log_density = [&](const T& s) {
    const T log_all_survive = n * others.scores.log_psi(T(s + others.origin));
    return T(own.log_psi(T(s + place)) + log(T(-math::exp_minus_one(log_all_survive))));
  };
  return integrate_log_concave<T>(where, log_density, T(-place));
}

template <class Law, Real T>
NeedleOptimum<T> optimal_needle_temperature(const Law& competitors, const Count<T>& noise_count,
                                            const NormalNeedle<T>& needle) {
  using std::exp;
  using std::log;
  const T& n = noise_count;
  const auto loss = [&](const T& beta) { return needle_cross_entropy(competitors, n, needle, beta).value; };
  const T even = loss(T(0));
  const auto law = detail::competitors_at("laws::optimal_needle_temperature", competitors, T(1));
  if (needle.mean <= law.mean) return {T(0), even, numerics::SearchPlace::lowest};
  if (!(T(0) < needle.stddev) && law.edge <= needle.mean) {
    return {std::numeric_limits<T>::infinity(), T(0), numerics::SearchPlace::highest};
  }
  // the widest needle that needle_cross_entropy accepts
  const T widest = T(detail::widest_needle);
  const T most = needle.stddev <= widest * law.spread ? (std::numeric_limits<T>::max)() : T(widest / needle.stddev);
  T middle = T(1) / (needle.mean - law.mean);
  if (most / T(2) < middle) middle = most / T(2);
  T best = loss(middle);
  for (T next = best; T(2) * middle <= most; middle = middle * T(2), best = next) {
    next = loss(T(middle * T(2)));
    if (!(next < best)) break;
  }
  for (T next = loss(T(middle / T(2))); next < best; next = loss(T(middle / T(2)))) middle = middle / T(2), best = next;
  const auto at = [&](const T& log_beta) { return loss(T(exp(log_beta))); };
  constexpr std::uintmax_t evaluations = 100;
  const bool at_most = most / T(2) < middle;
  const auto least =
      numerics::minimum_between<T>(at, T(log(T(middle / T(2)))), T(log(at_most ? most : T(middle * T(2)))),
                                   std::numeric_limits<T>::digits / 3, evaluations);
  return {T(exp(least.argument)), least.value, at_most ? least.place : numerics::SearchPlace::inside};
}

INCONTEXT_COMPILED(laws_needle_cross_entropy, needle_cross_entropy<NormalLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, needle_cross_entropy<UniformLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, needle_cross_entropy<TwoValueLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, optimal_needle_temperature<NormalLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, optimal_needle_temperature<UniformLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, optimal_needle_temperature<TwoValueLaw<double>, double>);
INCONTEXT_COMPILED(laws_needle_cross_entropy, bounded_log_slope<double>);

}  // namespace incontext::laws
