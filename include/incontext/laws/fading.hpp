#pragma once

#include <cmath>
#include <limits>

#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"

/// Attention fading in closed form: the weights of a two-level row, which has one score above n - 1 equal ones, and the
/// bounds that such rows give for any row. Scores enter as differences times the inverse temperature, beta g; for SSMax
/// beta = s log n + b.
namespace incontext::laws {

/// Weights of a row with one score above n - 1 equal ones.
template <Real T>
struct TwoLevelWeights {
  T high;        ///< weight of the one score
  T low;         ///< weight of each other score; NaN for n = 1
  T complement;  ///< 1 - high = (n - 1) low, without cancellation
};

/// Softmax weights of a two-level row, whose one high score is g above n - 1 equal ones.
///
/// \f[ a_{\max} = \frac{1}{1 + (n-1) e^{-\beta g}}, \qquad
///     a_{\mathrm{other}} = \frac{e^{-\beta g}}{1 + (n-1) e^{-\beta g}} \f]
///
///     const double kept = laws::two_level_weights<double>(1'000'000, 10.0).high;
///
/// Source    arXiv 2501.19399, Fig. 1 with scores -2 and 3; arXiv 2510.05554 is the case g = 1 - rho.
/// Units     exponent_gap = beta g dimensionless; weights dimensionless.
/// Domain    row_length >= 1, not necessarily whole; exponent_gap finite, of either sign.
/// Limits    row_length = 1: high 1; exponent_gap = 0: uniform; softmax, n -> infinity: high ~ e^(beta g) / n.
/// Errors    std::domain_error for row_length or exponent_gap outside the domain.
/// Accuracy  4 eps (1 + |beta g|) relative, each field: tests/laws/fading.cpp.
template <Real T>
TwoLevelWeights<T> two_level_weights(const Count<T>& row_length, const T& exponent_gap) {
  const T& n = row_length;
  using std::exp;
  detail::require_count("laws::two_level_weights", "row_length", n);
  require_finite("laws::two_level_weights", "exponent_gap", exponent_gap);
  const T others = n - T(1);
  if (!(T(0) < others)) return {T(1), std::numeric_limits<T>::quiet_NaN(), T(0)};
  const bool above = T(0) <= exponent_gap;
  const T ratio = exp(above ? T(-exponent_gap) : exponent_gap);  // the smaller weight over the larger
  const T high = above ? T(1) : ratio;
  const T low = above ? ratio : T(1);
  const T total = high + others * low;
  return {high / total, low / total, others * low / total};
}

/// Least weight of the largest score if it is above every other score by at least g.
///
/// \f[ a_{\max} \ge \frac{1}{1 + (n-1) e^{-\beta g}} \f]
///
/// Source    derived: docs/theory/laws.md#two-levels; attained by the two-level row.
/// Units     exponent_gap = beta g dimensionless.
/// Domain    row_length >= 1, exponent_gap >= 0.
/// Limits    exponent_gap = 0: 1/n. SSMax, n -> infinity: 1 for s g > 1.
/// Errors    std::domain_error for row_length or exponent_gap outside the domain.
/// Accuracy  as two_level_weights; the bound holds on random rows: tests/laws/fading.cpp.
template <Real T>
T largest_weight_lower_bound(const Count<T>& row_length, const T& exponent_gap) {
  const T& n = row_length;
  require_non_negative("laws::largest_weight_lower_bound", "exponent_gap", exponent_gap);
  return two_level_weights(n, exponent_gap).high;
}

/// Greatest weight of the largest score if no two scores differ by more than D.
///
/// \f[ a_{\max} \le \frac{1}{1 + (n-1) e^{-\beta D}} \f]
///
/// Source    arXiv 2501.19399; attained by the two-level row.
/// Units     exponent_range = beta D dimensionless.
/// Domain    row_length >= 1, exponent_range >= 0.
/// Limits    exponent_range = 0: 1/n. SSMax, n -> infinity: 0 for s D < 1.
/// Errors    std::domain_error for row_length or exponent_range outside the domain.
/// Accuracy  as two_level_weights; the bound holds on random rows: tests/laws/fading.cpp.
template <Real T>
T largest_weight_upper_bound(const Count<T>& row_length, const T& exponent_range) {
  const T& n = row_length;
  require_non_negative("laws::largest_weight_upper_bound", "exponent_range", exponent_range);
  return two_level_weights(n, exponent_range).high;
}

}  // namespace incontext::laws
