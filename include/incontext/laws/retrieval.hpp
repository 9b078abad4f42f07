#pragma once

#include <cmath>
#include <concepts>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/detail/weight_search.hpp"
#include "incontext/laws/gaussian_needle.hpp"

/// The score from which softmax retrieves a needle, at an inverse temperature that is fixed or grows with log n.
namespace incontext::laws {

/// Which of the competitors' scores make up their partition function: many (self-averaging), or a few (frozen).
enum class NoisePhase { self_averaging, frozen };

/// The phase of competitors with normal scores, y = s^2 v log n: frozen from y = 2 on.
///
/// Source    derived: docs/theory/laws.md#retrieval; x / x_c = sqrt(y / 2).
/// Domain    noise >= 0.
/// Errors    std::domain_error for noise outside the domain.
/// Accuracy  exact.
template <Real T>
NoisePhase noise_phase(const T& noise) {
  require_non_negative("laws::noise_phase", "noise", noise);
  return noise < T(2) ? NoisePhase::self_averaging : NoisePhase::frozen;
}

/// Boundary of retrieval among n -> infinity normal competitors, as a function of y alone for every s = beta / log n.
///
/// \f[ s m_c = a_c(y) = 1 + \frac y2\ (y < 2),\qquad \sqrt{2 y}\ (y \ge 2),\qquad y = s^2 v \log n \f]
///
/// Source    derived: docs/theory/laws.md#retrieval; (leading order of log Z) / log n.
/// Domain    noise = y >= 0.
/// Limits    y = 0: 1, the law of equal competitors; continuous with its derivative at y = 2.
/// Errors    std::domain_error for noise outside the domain.
/// Accuracy  4 eps relative of the limit: tests/laws/retrieval.cpp. At s = 0.43, v = 1 the exact boundary at n = 1e2 to
///           1e9 is lower, by up to 6% for y < 2 and 14% above.
template <Real T>
T retrieval_boundary(const T& noise) {
  using std::sqrt;
  if (noise_phase(noise) == NoisePhase::self_averaging) return T(1) + noise / T(2);
  return sqrt(T(T(2) * noise));
}

/// The same boundary as a score: the score that SSMax with b = 0 retrieves among normal competitors of variance v.
///
/// \f[ m_c = \frac1s + \frac{s v \log n}{2}\ (n < e^{2/(s^2 v)}),\qquad
///     \sqrt{2 v \log n}\ \text{beyond, for every } s \f]
///
/// Source    derived: docs/theory/laws.md#retrieval.
/// Units     of the scores.
/// Domain    row_length > 1, scale > 0, variance >= 0.
/// Limits    variance = 0: 1/s.
/// Errors    std::domain_error for row_length, scale or variance outside the domain.
/// Accuracy  as retrieval_boundary.
template <Real T>
T ssmax_gaussian_threshold(const Count<T>& row_length, const T& scale, const T& variance) {
  const T& n = row_length;
  using std::log;
  detail::require_more_than_one("laws::ssmax_gaussian_threshold", "row_length", n);
  require_positive("laws::ssmax_gaussian_threshold", "scale", scale);
  require_non_negative("laws::ssmax_gaussian_threshold", "variance", variance);
  return retrieval_boundary(T(scale * scale * variance * log(n))) / scale;
}

/// Row length beyond which the competitors of a needle under SSMax are frozen.
///
/// \f[ n = e^{2 / (s^2 v)} \f]
///
/// Source    derived: docs/theory/laws.md#retrieval.
/// Units     a number of scores, not necessarily whole.
/// Domain    scale > 0, variance > 0.
/// Limits    s = 0.43, v = 1: 5e4.
/// Errors    std::domain_error for scale or variance outside the domain; infinity on overflow.
/// Accuracy  4 eps (1 + 2 / (s^2 v)) relative: tests/laws/retrieval.cpp.
template <Real T>
T ssmax_freezing_count(const T& scale, const T& variance) {
  using std::exp;
  require_positive("laws::ssmax_freezing_count", "scale", scale);
  require_positive("laws::ssmax_freezing_count", "variance", variance);
  return exp(T(T(2) / (scale * scale * variance)));
}

/// Longest row, to leading order, in which a score m is retrieved from normal competitors at the best temperature.
///
/// \f[ n_{\max} = e^{m^2 / (2 v)},\ \text{attained at } \beta = \frac m v \f]
///
/// Source    derived: docs/theory/laws.md#retrieval; the boundary maximized over beta.
/// Units     a number of scores, not necessarily whole.
/// Domain    score >= 0, variance > 0.
/// Limits    score = 0: 1.
/// Errors    std::domain_error for score or variance outside the domain; infinity on overflow.
/// Accuracy  of the formula, 4 eps (1 + m^2 / (2 v)) relative; of log n_max as a leading order, as retrieval_boundary:
///           tests/laws/retrieval.cpp.
template <Real T>
T longest_retrievable_count(const T& score, const T& variance) {
  using std::exp;
  require_non_negative("laws::longest_retrievable_count", "score", score);
  require_positive("laws::longest_retrievable_count", "variance", variance);
  return exp(T(score * score / (T(2) * variance)));
}

/// The beta m at which a needle among N normal competitors has exactly the expected weight `weight`.
///
/// Source    derived: docs/theory/laws.md#retrieval; root by Boost.Math's TOMS 748.
/// Units     dimensionless; divide by beta for the score.
/// Domain    noise_count >= 1 and whole, score_stddev >= 0, 0 < weight < 1.
/// Limits    score_stddev = 0: log N + log(w / (1 - w)).
/// Errors    std::domain_error for noise_count, score_stddev or weight outside the domain; numerics::QuadratureError.
/// Accuracy  1e-9 relative: tests/laws/retrieval.cpp.
template <Real T>
T retrieval_gap(const Count<T>& noise_count, const T& score_stddev, const T& weight = T(0.5)) {
  const T& n = noise_count;
  using std::log;
  detail::require_fraction("laws::retrieval_gap", "weight", weight);
  detail::require_needle("laws::retrieval_gap", n, score_stddev, T(0));
  const T annealed = log(n) + score_stddev * score_stddev / T(2);
  return detail::exponent_of_weight<T>(
      "laws::retrieval_gap", [&](const T& exponent) { return needle_weight(n, score_stddev, exponent).value; },
      annealed, weight);
}

/// Height, in standard deviations of the other n - 1 normal scores, from which NormSoftmax retrieves a needle.
///
/// \f[ \frac{M}{\sqrt{1 + M^2/n}} = \log n + \tfrac12 \f]
///
/// The needle itself raises the standard deviation that the scores are divided by. In units of their own standard
/// deviation the other scores have standard deviation 1 whatever their scale, so they never freeze.
///
/// Source    derived: docs/theory/laws.md#retrieval; x = 1, for the branch whose standard deviation is below tau.
/// Units     standard deviations of the other scores.
/// Domain    row_length >= 1, where (log n + 1/2)^2 < n.
/// Limits    n -> infinity: log n + 1/2.
/// Errors    std::domain_error for row_length outside the domain.
/// Accuracy  leading order: the mean weight there is within 0.05 of 1/2 for n = 100 and 1000: tests/laws/retrieval.cpp.
template <class N, Real T = RealOf<N>>
  requires std::convertible_to<const N&, CountOf<T>>
T normsoftmax_needle_height(const N& row_length) {
  using std::log;
  using std::sqrt;
  const T n = CountOf<T>(row_length);
  detail::require_count("laws::normsoftmax_needle_height", "row_length", n);
  const T needed = log(n) + T(0.5);
  return needed / sqrt(T(T(1) - needed * needed / n));
}

INCONTEXT_COMPILED(laws_retrieval, noise_phase<double>);
INCONTEXT_COMPILED(laws_retrieval, retrieval_boundary<double>);
INCONTEXT_COMPILED(laws_retrieval, ssmax_gaussian_threshold<double>);
INCONTEXT_COMPILED(laws_retrieval, ssmax_freezing_count<double>);
INCONTEXT_COMPILED(laws_retrieval, longest_retrievable_count<double>);
INCONTEXT_COMPILED(laws_retrieval, retrieval_gap<double>);
INCONTEXT_COMPILED(laws_retrieval, normsoftmax_needle_height<double>);

}  // namespace incontext::laws
