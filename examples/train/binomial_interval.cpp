#include "examples/train/binomial_interval.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

namespace incontext::examples {

Interval<double> binomial_interval(std::int64_t successes, std::int64_t trials) {
  using Binomial = boost::math::binomial_distribution<>;
  constexpr double tail = 0.025;
  const auto n = static_cast<double>(trials), k = static_cast<double>(successes);
  return {Binomial::find_lower_bound_on_p(n, k, tail), Binomial::find_upper_bound_on_p(n, k, tail)};
}

statistics::Estimate share_of(std::int64_t successes, std::int64_t trials) {
  statistics::Estimate share;
  share.count = trials;
  const auto n = static_cast<double>(trials);
  share.mean = static_cast<double>(successes) / n;
  share.standard_error = std::sqrt(std::max(share.mean * (1 - share.mean), 1 / n) / n);
  return share;
}

}  // namespace incontext::examples
