#pragma once

#include <incontext/core/interval.hpp>

#include <cstdint>

namespace incontext::examples {

/// Clopper and Pearson's interval of 95% of a probability, from the number of successes in independent trials.
Interval<double> binomial_interval(std::int64_t successes, std::int64_t trials);

}  // namespace incontext::examples
