#pragma once

#include <incontext/core/interval.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>

namespace incontext::examples {

/// Clopper and Pearson's interval of 95% of a probability, from the number of successes in independent trials.
Interval<double> binomial_interval(std::int64_t successes, std::int64_t trials);

/// The share of successes, with its standard error; the variance is taken to be no less than one over the trials.
statistics::Estimate share_of(std::int64_t successes, std::int64_t trials);

}  // namespace incontext::examples
