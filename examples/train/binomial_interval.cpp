#include "examples/train/binomial_interval.hpp"

#include <boost/math/distributions/binomial.hpp>

namespace incontext::examples {

Interval<double> binomial_interval(std::int64_t successes, std::int64_t trials) {
  using Binomial = boost::math::binomial_distribution<>;
  constexpr double tail = 0.025;
  const auto n = static_cast<double>(trials), k = static_cast<double>(successes);
  return {Binomial::find_lower_bound_on_p(n, k, tail), Binomial::find_upper_bound_on_p(n, k, tail)};
}

}  // namespace incontext::examples
