#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "incontext/core/floating_point.hpp"

/// The weights of a row of scores that becomes longer.
namespace incontext::calibration {

/// The entropy and the largest weight of a row.
///
/// Units     entropy in nats, largest_weight dimensionless.
struct RowWeights {
  double entropy = 0;
  double largest_weight = 0;
};

/// The weights of a row that becomes longer: its highest scores, the needles, stay single, and every other score
/// recurs.
///
/// \f[ H = \log Z - \frac1Z \sum_j c_j w_j \beta (z_j - z_{\max}),\quad a_{\max} = \frac1Z,\quad Z = \sum_j c_j w_j,\quad
///     w_j = e^{\beta (z_j - z_{\max})},\quad c_j = \frac{m - k}{n - k}\ \text{or, for the $k$ highest, } 1 \f]
///
/// m is `longer`, k is `needles`, n the number of scores. c_j is the mean number of times that score j occurs in a row
/// of m scores, k of which are the needles and the others are drawn from the rest of the row with replacement (the
/// bootstrap). Where many scores share the weight, the law of large numbers makes the mean weights of such rows those
/// of the mean counts. The tail of the scores does not grow: in rows of normal scores the law of normal rows is better.
///
///     const std::vector<double> row{5, 0.2, -1, 0.3};
///     const auto weights = calibration::continued_row(row, 1, 16, 1.0);   // one needle, and 15 scores like the others
///
/// Source    derived: docs/theory/calibration.md#longer-rows; Efron, Annals of Statistics 7 (1979) 1 for the bootstrap.
/// Shapes    scores: n finite numbers, the needles first
/// Units     as RowWeights; inverse_temperature in one over those of the scores.
/// Domain    n >= 1, 0 <= needles, n <= longer for a longer row; a shorter one is taken in proportion.
/// Limits    needles >= n: the row itself; longer = n: the row itself.
/// Errors    NaN outside the domain, and where fewer scores than needles are asked for.
/// Accuracy  1e-12 beside literal rows, and beside the bootstrap: tests/calibration/longer_rows.cpp.
inline RowWeights continued_row(std::span<const double> scores, std::int64_t needles, double longer,
                                double inverse_temperature) {
  const auto n = static_cast<std::int64_t>(scores.size());
  const std::int64_t kept = (std::min)(needles, n);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (n < 1 || needles < 0 || !(longer >= static_cast<double>(kept))) return {nan, nan};
  const double highest = *std::max_element(scores.begin(), scores.end());
  const double count = kept < n ? (longer - static_cast<double>(kept)) / static_cast<double>(n - kept) : 1;
  double partition_function = 0, weighted_scores = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double below = inverse_temperature * (scores[static_cast<std::size_t>(j)] - highest);
    const double weight = (j < kept ? 1 : count) * std::exp(below);
    partition_function += weight;
    weighted_scores += weight * below;
  }
  return {std::log(partition_function) - weighted_scores / partition_function, 1 / partition_function};
}

}  // namespace incontext::calibration
