#pragma once

#include <boost/math/distributions/students_t.hpp>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::statistics {

/// The two-sided Student t interval of an estimate, which covers the true mean with probability `level`.
///
/// \f[ \bar x \pm t_{n-1,\, (1 + \mathrm{level})/2}\, \mathrm{se} \f]
///
///     const auto [lower, upper] = statistics::confidence_interval(estimate, 0.95);
///
/// Source    textbook; see docs/theory/statistics.md#estimates.
/// Units     those of a trial's value.
/// Domain    0 < level < 1.
/// Limits    fewer than two trials: NaN at both ends; standard error 0: the mean at both ends.
/// Errors    std::domain_error unless 0 < level < 1.
/// Accuracy  its coverage is measured in tests/statistics/estimate.cpp.
inline Interval<double> confidence_interval(const Estimate& estimate, double level) {
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::confidence_interval", "level is not a probability", level, "0 < level < 1");
  }
  if (estimate.count < 2) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  const boost::math::students_t distribution(static_cast<double>(estimate.count - 1));
  const double quantile = boost::math::quantile(boost::math::complement(distribution, 0.5 * (1 - level)));
  const double reach = quantile * estimate.standard_error;
  return {estimate.mean - reach, estimate.mean + reach};
}

}  // namespace incontext::statistics
