#include "incontext/laws/top_scores.hpp"

#include <boost/math/constants/constants.hpp>

#include "support/catch.hpp"
#include "support/real50.hpp"

/// The same template at 50 digits against a one-dimensional integral.
namespace incontext::testing {

TEST_CASE("the smaller of two weights is right to 30 digits", "[laws]") {
  const Real50 x = 2, step = Real50(1) / 64;
  // E logistic(-sqrt(2) x |g|), g = exp(v - e^-v): the trapezoidal rule is doubly exponential
  Real50 sum = 0;
  for (int i = -64 * 6; i <= 64 * 4; ++i) {
    const Real50 v = i * step, g = exp(Real50(v - exp(Real50(-v))));
    const Real50 density = exp(Real50(-g * g / 2)) * g * (1 + exp(Real50(-v)));
    sum += density / (1 + exp(Real50(x * sqrt(Real50(2)) * g)));
  }
  const Real50 exact = 2 * step * sum / sqrt(Real50(2 * boost::math::constants::pi<Real50>()));
  const auto found = laws::top_scores_weight(Real50(2), Real50(1), x);
  INFO(found.lost.str(40) << " against " << exact.str(40));
  CHECK(abs(Real50(found.lost / exact - 1)) < Real50(1e-30));
  CHECK(abs(Real50(found.kept + exact - 1)) < Real50(1e-30));
  CHECK(found.error_estimate < Real50(1e-30));
}

}  // namespace incontext::testing
