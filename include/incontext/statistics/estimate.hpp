#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/statistics/moments.hpp"

namespace incontext::statistics {

/// A Monte Carlo mean and how well it is known.
///
/// \f[ \bar x = \tfrac1n \sum x_i,\qquad \mathrm{se} = \sqrt{Q / (n(n-1))} \f]
///
/// `rounding` bounds how far rounding errors of the simulation may have moved the mean: a theory whose deviation is
/// smaller is not contradicted. It is 0 in an estimate made from Moments alone.
///
/// Source    textbook; see docs/theory/statistics.md#estimates.
/// Units     mean, standard_error and rounding in the unit of a trial's value.
/// Limits    n = 0: mean NaN; n < 2: standard_error NaN.
/// Accuracy  tests/statistics/estimate.cpp; its interval is in confidence_interval.hpp.
struct Estimate {
  std::int64_t count = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double standard_error = std::numeric_limits<double>::quiet_NaN();
  std::int64_t non_finite = 0;
  double rounding = 0;

  Estimate() = default;
  explicit Estimate(const Moments& moments) : count(moments.count), non_finite(moments.non_finite) {
    const auto n = static_cast<double>(count);
    if (count >= 1) mean = moments.mean;
    if (count >= 2) standard_error = std::sqrt(moments.sum_of_squares / n / (n - 1));
  }

  [[nodiscard]] double relative_error() const { return standard_error / std::abs(mean); }
};

}  // namespace incontext::statistics
