#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"

/// Where a row of n normal scores is between equal weights and one weight that is nearly 1.
namespace incontext::calibration {

/// The score standard deviation over its critical value: below 1 many scores share the weight, above it a few have
/// nearly all.
///
/// \f[ \theta = \frac{x}{\sqrt{2 \log n}} \f]
///
/// Source    the random energy model's transition: docs/theory/laws.md#normal-scores.
/// Domain    row_length > 1, score_stddev >= 0.
/// Limits    score_stddev = 0: 0.
/// Errors    std::domain_error for row_length or score_stddev outside the domain.
/// Accuracy  4 eps relative: tests/calibration/phase.cpp.
template <Real T>
T freezing_ratio(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  if (!(T(1) < n)) throw_domain_error("calibration::freezing_ratio", "row_length is too small", n, "more than 1");
  require_non_negative("calibration::freezing_ratio", "score_stddev", score_stddev);
  return score_stddev / laws::critical_score_stddev(n);
}

/// The length up to which rows of this score standard deviation are frozen; longer ones share their weight.
///
/// \f[ n = e^{x^2/2} \f]
///
/// Source    freezing_ratio = 1.
/// Units     a number of scores, not necessarily whole.
/// Domain    score_stddev >= 0.
/// Limits    score_stddev = 0: 1.
/// Errors    std::domain_error for score_stddev outside the domain; infinity on overflow.
/// Accuracy  4 eps (1 + x^2/2) relative: tests/calibration/phase.cpp.
template <Real T>
T longest_frozen_length(const T& score_stddev) {
  using std::exp;
  require_non_negative("calibration::longest_frozen_length", "score_stddev", score_stddev);
  return exp(T(score_stddev * score_stddev / T(2)));
}

/// The length at which a needle stops being distinguished: in longer rows another score is higher more often than not,
/// so that no inverse temperature, however large, gives the needle the largest weight in half of the rows.
///
/// \f[ P(\max_{j < n} z_j < g) = \Phi(g / \sigma)^{n - 1} = \frac12,\qquad
///     n = 1 - \frac{\log 2}{\log \Phi(g / \sigma)} \f]
///
/// Source    derived: docs/theory/calibration.md#distinguishing-length.
/// Units     a number of scores, the needle's included, not necessarily whole; gap in standard deviations g / sigma
///           of the other scores.
/// Domain    gap finite.
/// Limits    gap = 0: 2; gap -> infinity: infinity.
/// Errors    std::domain_error for a gap that is not finite.
/// Accuracy  1e-13 (1 + g^2) relative: tests/calibration/phase.cpp; against drawn rows there too.
template <Real T>
T distinguishing_length(const T& gap) {
  using std::log;
  require_finite("calibration::distinguishing_length", "gap", gap);
  const T above = math::normal_tail(gap);
  if (!(T(0) < above)) return std::numeric_limits<T>::infinity();
  return T(1) - log(T(2)) / math::log_one_plus(T(-above));
}

}  // namespace incontext::calibration
