#include "incontext/calibration/phase.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using incontext::testing::refuses;
using incontext::testing::relative;

TEST_CASE("a needle at the distinguishing length is the highest score in half of the rows", "[calibration]") {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  const double gap = 2.4;
  const auto n = static_cast<int>(std::lround(distinguishing_length(gap)));
  REQUIRE(n == 85);
  constexpr int runs = 20000;
  int highest = 0;
  for (int run = 0; run < runs; ++run) {
    bool beaten = false;
    for (int j = 1; j < n; ++j) beaten = normal(generator) > gap || beaten;
    highest += beaten ? 0 : 1;
  }
  // the rounding to a whole length changes the probability by less than 0.005; a needle of gap 2.3 has 0.41
  CHECK(std::abs(highest - runs / 2) < 4 * std::sqrt(runs / 4.0) + 0.005 * runs);
  CHECK(std::abs(distinguishing_length(2.3) - n) > 15);
}

TEST_CASE("limits of the phase and of the lengths", "[calibration]") {
  CHECK(relative(distinguishing_length(0.0), 2) < 1e-13);
  CHECK(std::isinf(distinguishing_length(60.0)));
  // n Phi(-g) = log 2 for a long row
  CHECK(relative(distinguishing_length(8.0), std::log(2.0) / (0.5 * std::erfc(8 / std::sqrt(2.0)))) < 1e-12);
  CHECK(relative(freezing_ratio<double>(std::exp(8.0), 2.0), 0.5) < 1e-14);
  CHECK(relative(freezing_ratio<double>(longest_frozen_length(3.0), 3.0), 1) < 1e-14);
  CHECK(longest_frozen_length(0.0) == 1);
  CHECK(refuses([] { freezing_ratio<double>(1, 2.0); }, {"row_length", "more than 1"}));
  CHECK(refuses([] { distinguishing_length(double(NAN)); }, {"gap is not finite"}));
}
