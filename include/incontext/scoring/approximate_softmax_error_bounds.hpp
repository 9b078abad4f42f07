#pragma once

#include <cmath>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/approximate_softmax_error.hpp"

namespace incontext::scoring {

/// Error of the approximate softmax at one score that is `gap` above n - 1 equal ones (below them, if gap is negative).
///
/// \f[ f(\Delta) = \frac{1}{1 + (n-1) e^{-\Delta}} - \frac1n \Bigl(1 + \frac{(n-1)\Delta}{n}\Bigr) \f]
///
/// Source    derived: docs/theory/scoring.md#error-bounds.
/// Units     gap in units of the temperature; result dimensionless.
/// Domain    n >= 1, finite gap.
/// Limits    gap = 0 or n = 1: 0; gap -> +-infinity: diverges linearly, to -+infinity.
/// Errors    NaN outside the domain.
/// Accuracy  32 eps (gap^2 for |gap| <= 1, 1 + |gap| above): tests/scoring/approximate_softmax_error_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_error_at_gap(std::ptrdiff_t count, const T& gap) {
  using std::exp;
  if (count < 1 || !math::is_finite(gap)) return math::not_a_number<T>();
  const T n = math::from_count<T>(count);
  const T own = gap * ((n - T(1)) / n);
  const T others = -gap / n;
  if (detail::is_far(own) || detail::is_far(others)) {
    const T opposite = -gap;
    return T(1) / (T(1) + (n - T(1)) * exp(opposite)) - (T(1) + own) / n;
  }
  const T surplus = (math::exp_minus_one_minus(own) + (n - T(1)) * math::exp_minus_one_minus(others)) / n;
  return detail::scaled_error(own, surplus) / n;
}

/// Largest error of the approximate softmax over all rows of n scores with range at most R.
///
/// \f[ \sup e_i = \max\{ f(\min(R, 2 \log(n-1))),\; f(-R) \}, \qquad n = 2: f(-R) \f]
///
/// Attained when all other scores are equal; f is approximate_softmax_error_at_gap.
///
/// Source    derived: docs/theory/scoring.md#error-bounds.
/// Units     range in units of the temperature; result dimensionless.
/// Domain    n >= 1, 0 <= R < infinity.
/// Limits    R = 0 or n = 1: 0; n -> infinity: n sup e -> e^R - 1 - R.
/// Errors    NaN outside the domain.
/// Accuracy  as approximate_softmax_error_at_gap.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T approximate_softmax_error_supremum(std::ptrdiff_t count, const T& range) {
  using std::log;
  if (count < 1 || !(T(0) <= range) || !math::is_finite(range)) return math::not_a_number<T>();
  if (count == 1) return T(0);
  const T below = approximate_softmax_error_at_gap(count, T(-range));
  if (count == 2) return below;
  const T others = math::from_count<T>(count - 1);
  const T turn = T(2) * log(others);
  const T above = approximate_softmax_error_at_gap(count, range < turn ? range : turn);
  return above < below ? below : above;
}

/// Smallest error, and a row that attains it: `high_count` competitors are above the score by `rise`, the others are
/// below it by range - rise.
///
/// Source    derived: docs/theory/scoring.md#error-bounds.
/// Units     value dimensionless, rise in units of the temperature.
/// Runs on   host and device
template <Real T>
struct ApproximateSoftmaxInfimum {
  T value;
  std::ptrdiff_t high_count;
  T rise;
};

/// Smallest error of the approximate softmax over all rows of n scores with range at most R.
///
/// Why: at a fixed sum of the competitors' differences from the score, the sum of their exponentials is Schur-convex,
/// so at the minimum they have two levels, R apart. If both levels move together, the derivative of e is 0 where
/// p (1 - p) = (n - 1) / n^2 for the score's softmax weight p, and the minimum is at p = 1/n. What is left is concave
/// in the fraction kappa of competitors on the upper level, so the best count is a neighbor of (n - 1) kappa*.
///
/// \f[ \inf e_i = -\frac{n-1}{n^2} \max_k h\Bigl(\frac{k}{n-1}\Bigr), \quad
///     h(\kappa) = \log(1 + \kappa (e^R - 1)) - \kappa R, \quad \kappa^* = \frac1R - \frac{1}{e^R - 1} \f]
///
/// or f(R), for which all competitors are R below the score, if that is smaller, which needs R > 2 log(n - 1).
///
/// Source    derived: docs/theory/scoring.md#error-bounds.
/// Units     range in units of the temperature; result dimensionless.
/// Domain    n >= 1, 0 <= R < infinity.
/// Limits    R = 0 or n = 1: 0; n = 2: f(R) = -sup.
/// Errors    NaN outside the domain.
/// Accuracy  32 eps (R^2 for R <= 1, 1 + R above): tests/scoring/approximate_softmax_error_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD ApproximateSoftmaxInfimum<T> approximate_softmax_error_infimum(std::ptrdiff_t count, const T& range) {
  using std::exp;
  using std::log;
  if (count < 1 || !(T(0) <= range) || !math::is_finite(range)) return {math::not_a_number<T>(), 0, T(0)};
  if (count == 1 || !(T(0) < range)) return {T(0), 0, T(0)};
  const T n = math::from_count<T>(count);
  const T competitors = n - T(1);
  const T growth = math::exp_minus_one(range);
  const T opposite = -range;
  const T decay = exp(opposite);

  T fraction = T(0.5) - range / T(12);
  if (T(0.001) < range) fraction = T(1) / range - T(1) / growth;
  std::ptrdiff_t nearest = 0;  // floor((n - 1) kappa*), by doubling: T may have no conversion to an integer
  for (std::ptrdiff_t bit = std::ptrdiff_t{1} << 53; bit > 0; bit /= 2) {
    if (nearest + bit < count && math::from_count<T>(nearest + bit) <= fraction * competitors) nearest += bit;
  }

  ApproximateSoftmaxInfimum<T> best{T(0), 0, T(0)};
  for (std::ptrdiff_t k = nearest; k <= nearest + 1 && k < count; ++k) {
    const T share = math::from_count<T>(k) / competitors;
    const T remaining = math::from_count<T>(count - 1 - k) / competitors;
    const T mixture = share + remaining * decay;
    // h(kappa), arranged so that it does not cancel at small R and needs no e^R at large R
    const T near_height = share * math::exp_minus_one_minus(range) - math::minus_log_one_plus(T(share * growth));
    const T far_height = log(mixture) + remaining * range;
    const T height = range <= T(1) ? near_height : far_height;
    const T value = -(competitors / n) * height / n;
    if (value < best.value) best = {value, k, T(-log(mixture))};
  }
  if (T(2) * log(competitors) < range) {
    const T edge = approximate_softmax_error_at_gap(count, range);
    if (edge < best.value) best = {edge, 0, T(0)};
  }
  return best;
}

}  // namespace incontext::scoring
