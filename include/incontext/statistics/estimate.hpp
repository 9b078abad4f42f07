#pragma once

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/interval.hpp"
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
/// Errors    interval(): std::domain_error unless 0 < level < 1.
/// Accuracy  coverage of the interval: tests/statistics/estimate.cpp.
/// Runs on   host
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

  /// Student t interval of the given two-sided level.
  [[nodiscard]] Interval<double> interval(double level) const {
    if (!(level > 0 && level < 1)) {
      throw_domain_error("statistics::Estimate::interval", "level is not a probability", level, "0 < level < 1");
    }
    if (count < 2) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
    const boost::math::students_t distribution(static_cast<double>(count - 1));
    const double quantile = boost::math::quantile(boost::math::complement(distribution, 0.5 * (1 - level)));
    const double reach = quantile * standard_error;
    return {mean - reach, mean + reach};
  }
};

}  // namespace incontext::statistics
