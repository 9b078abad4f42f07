#include "incontext/scoring/sa_softmax.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/normalized_sa_softmax.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("self-adjusted weights are softmax weights times the score or its place in the range", "[scoring]") {
  Random random(121);
  for (int trial = 0; trial < 50; ++trial) {
    auto z = random.normals(1 + random.below(8), 2);
    if (trial % 3 == 1) {
      for (double& x : z) x = std::abs(x);
    }
    if (trial % 3 == 2) {
      for (double& x : z) x = -std::abs(x);
    }
    double low = 0, high = 0;
    for (const double x : z) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
    const auto p = weights_of(Softmax<double>{}, z);
    const auto first = weights_of(SaSoftmax<double>{}, z), second = weights_of(NormalizedSaSoftmax<double>{}, z);
    for (std::size_t i = 0; i < z.size(); ++i) {
      CHECK(std::abs(first[i] - z[i] * p[i]) < 1e-15);
      CHECK(std::abs(second[i] - (z[i] - low) / (high - low) * p[i]) < 1e-15);
      CHECK(0 <= second[i]);
      CHECK(second[i] <= p[i]);
    }
  }
}

TEST_CASE("the second version is shift-invariant on rows of both signs, and only there", "[scoring]") {
  const std::vector<double> mixed{1, -2, 0.5}, positive{1, 2, 0.5};
  const auto shifted = [](std::vector<double> z) {
    for (double& x : z) x += 0.25;
    return z;
  };
  const NormalizedSaSoftmax<double> map;
  CHECK(distance(weights_of(map, shifted(mixed)), weights_of(map, mixed)) < 1e-15);
  CHECK(distance(weights_of(map, shifted(positive)), weights_of(map, positive)) > 1e-3);
}

TEST_CASE("logarithms of the second version round as stated where a score is next to the largest one", "[scoring]") {
  // log((z - low) / (high - low)) + log softmax at 40 digits
  const auto check = [](const std::vector<double>& z, const std::vector<double>& expected) {
    std::vector<double> log_row(z.size());
    log_weights(NormalizedSaSoftmax<double>{}, z, log_row);
    for (std::size_t i = 0; i + 1 < z.size(); ++i) {
      CHECK(std::abs(log_row[i] - expected[i]) <= 8 * 2.3e-16 * (1 + std::abs(expected[i])));
    }
    CHECK(log_row.back() == -infinity);
  };
  check({1, 1 - 0x1p-40, -1}, {-0.75862367567908754536, -0.75862367568045178742, 0});
  check({-0x1p-40, -100}, {-9.0949470177293237382e-15, 0});
}

TEST_CASE("scaled up, the first version grows with the largest score and the second becomes a hardmax", "[scoring]") {
  const std::vector<double> z{1000, 900, -400};
  CHECK(distance(weights_of(SaSoftmax<double>{}, z), {1000, 0, 0}) < 1e-30);
  CHECK(distance(weights_of(NormalizedSaSoftmax<double>{}, z), weights_of(Hardmax<double>{}, z)) < 1e-40);
}

TEST_CASE("a row of zeros has weight zero and no derivative under the second version", "[scoring]") {
  CHECK(weights_of(NormalizedSaSoftmax<double>{}, {0, 0}) == std::vector<double>{0, 0});
  CHECK(all_nan(jvp_of(NormalizedSaSoftmax<double>{}, {0, 0}, {1, 0})));
  CHECK(all_nan(vjp_of(NormalizedSaSoftmax<double>{}, {0, 0}, {1, 0})));
  std::vector<double> log_row(2);
  log_weights(NormalizedSaSoftmax<double>{}, std::vector<double>{0, 0}, log_row);
  CHECK(log_row == std::vector<double>{-infinity, -infinity});
}

}  // namespace incontext::testing
