#include "incontext/statistics/kolmogorov_smirnov.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

namespace kolmogorov_smirnov_test {

using incontext::statistics::kolmogorov_smirnov_p_value;
using incontext::statistics::kolmogorov_smirnov_statistic;

TEST_CASE("the statistic is the largest distance, below and above the steps") {
  CHECK(kolmogorov_smirnov_statistic({0.5}) == 0.5);
  CHECK(kolmogorov_smirnov_statistic({0.0, 0.0}) == 1);
  CHECK(kolmogorov_smirnov_statistic({0.9, 0.3}) == Approx(0.4).epsilon(1e-15));
  // by its definition, on a grid that is fine enough to show the distance below each value
  const std::vector<double> values{0.11, 0.72, 0.35, 0.36, 0.99, 0.02, 0.52};
  double largest = 0;
  for (int i = 0; i <= 1000000; ++i) {
    const double x = i * 1e-6;
    double below = 0;
    for (const double value : values) below += value <= x ? 1.0 / 7 : 0;
    largest = std::fmax(largest, std::fabs(below - x));
  }
  CHECK(kolmogorov_smirnov_statistic(values) == Approx(largest).margin(2e-6));
}

TEST_CASE("the law is that of small samples by hand, and of tables") {
  for (const double d : {0.5, 0.6, 0.75, 0.99})
    CHECK(kolmogorov_smirnov_p_value(d, 1) == Approx(2 - 2 * d).epsilon(0).margin(1e-14));
  // two values: P(D < d) = 2 (2d - 1/2)^2 for d <= 1/2, and 1 - 2 (1 - d)^2 above
  for (const double d : {0.3, 0.4, 0.5}) {
    CHECK(kolmogorov_smirnov_p_value(d, 2) == Approx(1 - 2 * (2 * d - 0.5) * (2 * d - 0.5)).epsilon(0).margin(1e-14));
  }
  for (const double d : {0.6, 0.8})
    CHECK(kolmogorov_smirnov_p_value(d, 2) == Approx(2 * (1 - d) * (1 - d)).epsilon(0).margin(1e-14));
  // scipy.stats.kstwo.sf, exact for up to 140 values
  CHECK(kolmogorov_smirnov_p_value(0.274, 10) == Approx(0.3715203845434957).epsilon(0).margin(1e-12));
  CHECK(kolmogorov_smirnov_p_value(0.1, 100) == Approx(0.2526927570063874).epsilon(0).margin(1e-12));
  CHECK(kolmogorov_smirnov_p_value(0.2, 100) == Approx(0.0005551927327988775).epsilon(0).margin(1e-12));
}

TEST_CASE("the law of many values keeps its digits") {
  // the same matrices with 64-bit mantissas, and factorials at 40 digits; the derivative by the statistic is near -100
  CHECK(kolmogorov_smirnov_p_value(0.2, 15) == Approx(0.522049779007504023).epsilon(0).margin(1e-15));
  CHECK(kolmogorov_smirnov_p_value(0.2, 16) == Approx(0.483361055981378887).epsilon(0).margin(1e-15));
  CHECK(kolmogorov_smirnov_p_value(0.02, 1000) == Approx(0.810897131070212133).epsilon(0).margin(1e-13));
  CHECK(kolmogorov_smirnov_p_value(0.01, 5000) == Approx(0.695455725641881803).epsilon(0).margin(1e-13));
  CHECK_FALSE(kolmogorov_smirnov_p_value(0.01 + 1e-11, 5000) == Approx(0.695455725641881803).epsilon(0).margin(1e-13));
}

TEST_CASE("the law tends to Kolmogorov's, and the tail joins its bound") {
  const double x = 1.2;
  const std::int64_t n = 20000;
  double limit = 0;
  for (int k = 1; k < 20; ++k) limit += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  CHECK(kolmogorov_smirnov_p_value(x / std::sqrt(static_cast<double>(n)), n) == Approx(limit).epsilon(0.02));
  CHECK(kolmogorov_smirnov_p_value(0.4, 100) < 1e-12);
  CHECK(kolmogorov_smirnov_p_value(1e-9, 100) == 1);
  CHECK(kolmogorov_smirnov_p_value(1, 100) == 0);
}

namespace {

/// The share of samples of uniform values, raised to a power, that the test rejects at 5%.
double rejected(double power) {
  constexpr int samples = 2000, count = 25;
  int rejections = 0;
  std::mt19937_64 engine(1);
  for (int i = 0; i < samples; ++i) {
    std::vector<double> values;
    for (int j = 0; j < count; ++j) values.push_back(std::pow(std::generate_canonical<double, 53>(engine), power));
    rejections += kolmogorov_smirnov_p_value(kolmogorov_smirnov_statistic(values), count) <= 0.05 ? 1 : 0;
  }
  return static_cast<double>(rejections) / samples;
}

}  // namespace

TEST_CASE("uniform values are rejected as often as stated, others more often") {
  const double error = std::sqrt(0.05 * 0.95 / 2000);
  CHECK(std::abs(rejected(1) - 0.05) < 5 * error);
  CHECK(rejected(1.5) > 0.3);
}

TEST_CASE("what is no sample or no statistic is refused") {
  CHECK_THROWS_AS(kolmogorov_smirnov_statistic({}), std::invalid_argument);
  CHECK_THROWS_AS(kolmogorov_smirnov_statistic({0.5, 1.1}), std::domain_error);
  CHECK_THROWS_AS(kolmogorov_smirnov_statistic({std::numeric_limits<double>::quiet_NaN()}), std::domain_error);
  CHECK_THROWS_AS(kolmogorov_smirnov_p_value(1.1, 3), std::domain_error);
  CHECK_THROWS_AS(kolmogorov_smirnov_p_value(0.5, 0), std::invalid_argument);
}

}  // namespace kolmogorov_smirnov_test
