#include <cmath>

#include "incontext/laws/row_moments.hpp"
#include "incontext/scoring/softmax.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

TEST_CASE("row moments at 50 digits: what double rounds off") {
  const std::int64_t count = GENERATE(2, 1000000);
  const double variance = GENERATE(0.0625, 4.0);
  const auto exact = laws::row_moments(scoring::Softmax<Real50>{Real50(1)}, count, Real50(variance));
  const auto rounded = laws::row_moments(scoring::Softmax<double>{1.0}, count, variance);
  CHECK(exact.error_estimate < Real50(1e-30));
  const auto off = [](double value, const Real50& reference) {
    return std::abs(static_cast<double>(Real50(value) / reference - 1));
  };
  CHECK(off(rounded.ipr, exact.ipr) < 1e-14);
  CHECK(off(rounded.mean_score, exact.mean_score) < 1e-14);
  CHECK(off(rounded.mean_square_score, exact.mean_square_score) < 1e-14);
  // E sum p z = q (1 - E sum p^2)
  CHECK(abs(exact.mean_score / (Real50(variance) * (1 - exact.ipr)) - 1) < Real50(1e-40));
}

}  // namespace incontext::testing
