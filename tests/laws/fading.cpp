#include "incontext/laws/fading.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "laws/refusal.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("two-level weights are those of the row written out", "[laws]") {
  for (const std::size_t n : {1u, 2u, 3u, 10u, 257u}) {
    for (const double gap : {-7.0, -0.5, 0.0, 0.1, 2.0, 30.0}) {
      std::vector<double> z(n, -2.0);
      z[n / 2] = gap - 2;
      const auto row = weights_of(scoring::Softmax<double>{}, z);
      const auto closed = two_level_weights(static_cast<double>(n), gap);
      INFO("n " << n << ", gap " << gap);
      CHECK(std::abs(closed.high / row[n / 2] - 1) < 1e-13);
      CHECK(std::abs(closed.complement + closed.high - 1) < 1e-15);
      if (n > 1) CHECK(std::abs(closed.low / row[0] - 1) < 1e-13);
      const double beta = 0.43 * std::log(static_cast<double>(n));
      const auto ssmax = weights_of(scoring::SSMax<double>{0.43, 0}, z);
      CHECK(std::abs(two_level_weights(static_cast<double>(n), beta * gap).high / ssmax[n / 2] - 1) < 1e-13);
    }
  }
}

TEMPLATE_TEST_CASE("two-level weights keep their digits up to a quadrillion scores", "[laws]", float, double) {
  using T = TestType;
  Worst worst;
  for (double n = 1; n < 2e15; n = std::ceil(1.7 * n)) {
    for (const double gap : {-80.0, -33.3, -1.0, -1e-9, 0.0, 1e-9, 0.7, 5.0, 33.3, 80.0}) {
      const auto exact = two_level_weights(static_cast<long double>(T(n)), static_cast<long double>(T(gap)));
      const auto value = two_level_weights(T(n), T(gap));
      const auto off = [&](T x, long double reference) {
        if (reference < static_cast<long double>(std::numeric_limits<T>::min())) return 0.0;
        return eps_from(x, reference, reference * (1 + std::abs(gap)));
      };
      worst.add(off(value.high, exact.high), "n ", n, ", gap ", gap);
      worst.add(off(value.complement, exact.complement), "n ", n, ", gap ", gap);
      if (n > 1) worst.add(off(value.low, exact.low), "n ", n, ", gap ", gap);
    }
  }
  CHECK(worst <= 4);
}

TEST_CASE("no row breaks the bounds of the largest weight", "[laws]") {
  Random random(311);
  for (int trial = 0; trial < 4000; ++trial) {
    const std::size_t n = 2 + random.below(20);
    std::vector<double> z(n);
    for (double& x : z) x = (trial % 2 == 0 ? 6 : 1) * random.uniform();
    const double largest = weights_of(scoring::Softmax<double>{},
                                      z)[static_cast<std::size_t>(std::max_element(z.begin(), z.end()) - z.begin())];
    std::sort(z.begin(), z.end());
    const double count = static_cast<double>(n), gap = z[n - 1] - z[n - 2], range = z[n - 1] - z[0];
    CHECK(largest_weight_lower_bound(count, gap) <= largest * (1 + 1e-14));
    CHECK(largest <= largest_weight_upper_bound(count, range) * (1 + 1e-14));
    // the other way around they are no bounds
    if (n > 2) CHECK_FALSE(largest_weight_lower_bound(count, range) <= largest);
    if (n > 2) CHECK_FALSE(largest <= largest_weight_upper_bound(count, gap));
  }
}

TEST_CASE("two-level rows have their limits", "[laws]") {
  CHECK(two_level_weights(1.0, -700.0).high == 1);
  CHECK(two_level_weights(1.0, 3.0).complement == 0);
  CHECK(two_level_weights(4.0, 0.0).high == 0.25);
  CHECK(two_level_weights(5.0, 1e4).high == 1);
  CHECK(two_level_weights(5.0, 1e4).complement == 0);
  CHECK(two_level_weights(5.0, -1e4).high == 0);
  CHECK(two_level_weights(5.0, -1e4).low == 0.25);
  CHECK(std::abs(two_level_weights(1e15, 5.0).high / (std::exp(5.0) / 1e15) - 1) < 1e-12);
  CHECK(two_level_weights(1.5, 0.0).high == 1 / 1.5);
}

TEST_CASE("two-level rows refuse what is no row", "[laws]") {
  CHECK(refuses([] { two_level_weights(0.5, 1.0); }, {"two_level_weights", "row_length", "0.5", "at least 1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { two_level_weights(x, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { two_level_weights(3.0, x); }, {"exponent_gap"}));
    CHECK(refuses([x] { largest_weight_lower_bound(3.0, x); }, {"exponent_gap"}));
    CHECK(refuses([x] { largest_weight_upper_bound(3.0, x); }, {"exponent_range"}));
  }
  CHECK(refuses([] { largest_weight_lower_bound(3.0, -1.0); }, {"exponent_gap", "-1"}));
  CHECK(refuses([] { largest_weight_upper_bound(3.0, -1.0); }, {"exponent_range", "-1"}));
  CHECK(refuses([] { largest_weight_upper_bound(0.0, 1.0); }, {"row_length", "value = 0"}));
}

}  // namespace incontext::testing
