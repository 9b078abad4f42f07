#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"

/// Thresholds of attention fading: the row lengths and the score gaps at which the largest weight is lost or kept.
namespace incontext::laws {

/// Row length at which softmax's weight of the high score of a two-level row has fallen to `weight`.
///
/// \f[ n = 1 + e^{\beta g} \frac{1 - w}{w} \f]
///
/// Source    derived: docs/theory/laws.md#thresholds; laws/fading.hpp solved for n.
/// Units     exponent_gap = beta g dimensionless; a number of scores, not necessarily whole.
/// Domain    exponent_gap finite, 0 < weight < 1.
/// Limits    weight = 1/2: 1 + e^(beta g).
/// Errors    std::domain_error for exponent_gap or weight outside the domain; infinity where e^(beta g) overflows.
/// Accuracy  4 eps (1 + |beta g|) relative: tests/laws/fading_thresholds.cpp.
template <Real T>
T two_level_count(const T& exponent_gap, const T& weight = T(0.5)) {
  using std::exp;
  require_finite("laws::two_level_count", "exponent_gap", exponent_gap);
  detail::require_fraction("laws::two_level_count", "weight", weight);
  return T(1) + exp(exponent_gap) * ((T(1) - weight) / weight);
}

/// Gap at which the high score of a two-level row of n scores has the weight `weight`.
///
/// \f[ \beta g = \log(n - 1) + \log \frac{w}{1 - w} \f]
///
/// Source    derived: docs/theory/laws.md#thresholds; laws/fading.hpp solved for the gap.
/// Units     dimensionless: the gap times the inverse temperature.
/// Domain    row_length > 1, 0 < weight < 1.
/// Limits    weight = 1/n: 0.
/// Errors    std::domain_error for row_length or weight outside the domain.
/// Accuracy  4 eps (1 + log n + |log(w / (1 - w))|) absolute: tests/laws/fading_thresholds.cpp.
template <class N, Real T = RealOf<N>>
  requires std::convertible_to<const N&, CountOf<T>>
T two_level_exponent_gap(const N& row_length, const T& weight = T(0.5)) {
  using std::log;
  const T n = CountOf<T>(row_length);
  detail::require_more_than_one("laws::two_level_exponent_gap", "row_length", n);
  detail::require_fraction("laws::two_level_exponent_gap", "weight", weight);
  return log(T(n - T(1))) + log(T(weight / (T(1) - weight)));
}

/// Row length above which SSMax is sharper than softmax on the same scores.
///
/// \f[ s \log n + b > 1 \iff n > e^{(1 - b)/s} \f]
///
/// Source    derived: docs/theory/laws.md#thresholds.
/// Units     a number of scores, not necessarily whole.
/// Domain    scale > 0, bias finite.
/// Limits    s = 0.43, b = 0: 10.2.
/// Errors    std::domain_error for scale or bias outside the domain; infinity on overflow.
/// Accuracy  4 eps (1 + |1 - b| / s) relative: tests/laws/fading_thresholds.cpp.
template <Real T>
T ssmax_crossover_count(const T& scale, const T& bias = T(0)) {
  using std::exp;
  require_positive("laws::ssmax_crossover_count", "scale", scale);
  require_finite("laws::ssmax_crossover_count", "bias", bias);
  return exp(T((T(1) - bias) / scale));
}

/// The gap that decides whether SSMax keeps one score among n -> infinity bounded competitors.
///
/// \f[ g_c = 1/s \f]
///
/// If every competitor is further below the largest score than this gap, the largest weight tends to 1; if every score
/// is nearer to it than this gap, the largest weight tends to 0. For normal competitors there is another threshold, in
/// laws/retrieval.hpp.
///
/// Source    arXiv 2501.19399; derived: docs/theory/laws.md#thresholds.
/// Units     of the scores.
/// Domain    scale > 0.
/// Errors    std::domain_error for scale outside the domain.
/// Accuracy  1 eps: tests/laws/fading_thresholds.cpp.
template <Real T>
T ssmax_critical_gap(const T& scale) {
  require_positive("laws::ssmax_critical_gap", "scale", scale);
  return T(1) / scale;
}

/// Limit for n -> infinity of SSMax's weight of the high score of a two-level row.
///
/// \f[ \lim_n \frac{1}{1 + (n-1) n^{-s g}} = 1, \tfrac12, 0 \text{ for } s g >, =, < 1 \f]
///
/// The distance to the limit falls like n^-|s g - 1|.
///
/// Source    derived: docs/theory/laws.md#thresholds.
/// Domain    scale > 0, gap finite.
/// Errors    std::domain_error for scale or gap outside the domain.
/// Accuracy  exact for the rounded product s g: tests/laws/fading_thresholds.cpp.
template <Real T>
T ssmax_two_level_limit(const T& scale, const T& gap) {
  require_positive("laws::ssmax_two_level_limit", "scale", scale);
  require_finite("laws::ssmax_two_level_limit", "gap", gap);
  const T product = scale * gap;
  if (T(1) < product) return T(1);
  return product < T(1) ? T(0) : T(0.5);
}

/// Row length, as a real number, at which SSMax's weight of the high score of a two-level row is smallest.
///
/// \f[ n_* = \frac{s g}{s g - 1} \f]
///
/// Source    derived: docs/theory/laws.md#thresholds; (n - 1) n^(-s g) is largest there.
/// Units     a number of scores, not necessarily whole.
/// Domain    scale > 0, scale gap > 1; otherwise the weight falls for every n.
/// Limits    s g -> infinity: 1.
/// Errors    std::domain_error for scale, or for a product of scale and gap that is not above 1 and finite.
/// Accuracy  4 eps (1 + 1 / (s g - 1)) relative: tests/laws/fading_thresholds.cpp.
template <Real T>
T ssmax_weakest_count(const T& scale, const T& gap) {
  require_positive("laws::ssmax_weakest_count", "scale", scale);
  const T product = scale * gap;
  if (!(T(1) < product && math::is_finite(product))) {
    throw_domain_error("laws::ssmax_weakest_count", "scale times gap is not above 1", product, "1 < value < infinity");
  }
  return product / (product - T(1));
}

/// A law of scores that have a largest possible value z_+, described by its behavior there.
///
/// \f[ \log E e^{\beta z} = \beta z_+ - \kappa \log\beta + O(1) \f]
///
/// edge_exponent = kappa is 1 where the density at the edge is positive and finite (uniform scores, the grid), and 0
/// for scores that take finitely many values.
///
/// Units     upper_edge = z_+ in units of the scores; edge_exponent dimensionless.
/// Domain    upper_edge finite, edge_exponent >= 0 and finite.
template <Real T = double>
struct BoundedScores {
  T upper_edge;
  T edge_exponent = T(1);
};

/// Score that SSMax retrieves with probability one half among competitors of a law with an upper edge, for long rows.
///
/// \f[ m_c = z_+ + \frac1s - \kappa \frac{\log(s \log n)}{s \log n} \f]
///
/// z_+ and kappa are the fields of BoundedScores. The limit z_+ + 1/s is approached as slowly as log log n / log n
/// vanishes.
///
/// Source    derived: docs/theory/laws.md#grid; the caption of Fig. 3 of arXiv 2501.19399 has its limit, 1 + 1/s.
/// Units     of the scores.
/// Domain    row_length > 1, scale > 0, law as BoundedScores.
/// Errors    std::domain_error for row_length, scale or a field of law outside the domain.
/// Accuracy  asymptotic: 2e-4 of the grid's exact threshold for s log n > 6: tests/laws/fading_grid.cpp.
template <Real T>
T ssmax_bounded_threshold(const Count<T>& row_length, const T& scale, const BoundedScores<T>& law) {
  const T& n = row_length;
  using std::log;
  detail::require_more_than_one("laws::ssmax_bounded_threshold", "row_length", n);
  require_positive("laws::ssmax_bounded_threshold", "scale", scale);
  require_finite("laws::ssmax_bounded_threshold", "upper_edge", law.upper_edge);
  require_non_negative("laws::ssmax_bounded_threshold", "edge_exponent", law.edge_exponent);
  const T beta = scale * log(n);
  return law.upper_edge + T(1) / scale - law.edge_exponent * log(beta) / beta;
}

/// One level of competitors: n^exponent scores, each below the largest score by `gap`.
///
/// Units     gap of the scores; exponent dimensionless, at most 1.
template <Real T>
struct CompetitorLevel {
  T gap;
  T exponent;
};

/// The power of n that decides whether SSMax's largest weight is lost or kept, for competitors on any levels.
///
/// \f[ \frac{1}{a_{\max}} - 1 = \sum_j n^{\nu_j - s g_j} \sim n^{\sup_j (\nu_j - s g_j)} \f]
///
/// The largest score keeps all weight if the power is negative, and loses it if the power is positive. One level with
/// exponent 1 gives the gap 1/s.
///
/// Source    derived: docs/theory/laws.md#thresholds; compare arXiv 2605.12697.
/// Domain    scale > 0, at least one level, finite gaps >= 0 and exponents.
/// Limits    no gap below g, exponent 1 at g: 1 - s g.
/// Errors    std::invalid_argument for no level, std::domain_error for scale or a field of a level outside the domain.
/// Accuracy  2 eps (1 + |s g|): tests/laws/fading_thresholds.cpp.
template <Real T>
T ssmax_focus_power(std::span<const CompetitorLevel<T>> levels, const T& scale) {
  require_positive("laws::ssmax_focus_power", "scale", scale);
  require_at_least("laws::ssmax_focus_power", "number of levels", levels.size(), std::size_t{1});
  T power = levels[0].exponent - scale * levels[0].gap;
  for (const auto& level : levels) {
    require_non_negative("laws::ssmax_focus_power", "gap", level.gap);
    require_finite("laws::ssmax_focus_power", "exponent", level.exponent);
    const T here = level.exponent - scale * level.gap;
    if (power < here) power = here;
  }
  return power;
}

/// Gap above which alpha-entmax gives its largest score the weight 1 exactly, whatever the number of scores.
///
/// \f[ g_c = \frac{1}{\alpha - 1} \f]
///
/// Source    derived: docs/theory/laws.md#thresholds; sparsemax (alpha = 2): Martins & Astudillo 2016.
/// Units     of the scores.
/// Domain    alpha > 1.
/// Errors    std::domain_error for alpha outside the domain.
/// Accuracy  2 eps alpha / (alpha - 1): tests/laws/fading_thresholds.cpp.
template <Real T>
T entmax_one_hot_gap(const T& alpha) {
  if (!(T(1) < alpha && math::is_finite(alpha))) {
    throw_domain_error("laws::entmax_one_hot_gap", "alpha is not above 1", alpha, "1 < value < infinity");
  }
  return T(1) / (alpha - T(1));
}

}  // namespace incontext::laws
