#include "incontext/calibration/centered_needle.hpp"

#include <cmath>
#include <random>

#include "support/catch.hpp"

using incontext::calibration::centered_needle_weight;

namespace {

struct Mean {
  double value, error;
};

/// Drawn rows, each with a needle above its own mean. Shares no algebra with the law.
Mean drawn(int n, double stddev, double gap, int rows, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(3, stddev);
  double sum = 0, squares = 0;
  std::vector<double> row(static_cast<std::size_t>(n));
  for (int r = 0; r < rows; ++r) {
    double mean = 0, others = 0;
    for (double& score : row) mean += (score = normal(generator)) / n;
    for (const double score : row) others += std::exp(score - mean - gap);
    const double weight = 1 / (1 + others);
    sum += weight;
    squares += weight * weight;
  }
  const double mean = sum / rows;
  return {mean, std::sqrt((squares / rows - mean * mean) / rows)};
}

}  // namespace

TEST_CASE("the weight of a needle above the row's own mean is that of drawn rows", "[calibration]") {
  struct Case {
    int n;
    double stddev, gap;
  };
  double twin = 0;
  for (const Case& c : {Case{8, 0.8, 2}, Case{16, 1, 3}, Case{16, 1.5, 5}, Case{64, 1.5, 6}, Case{256, 2, 8}}) {
    const auto law = centered_needle_weight(c.n, c.stddev, c.gap);
    const Mean rows = drawn(c.n, c.stddev, c.gap, 400000, 7);
    CAPTURE(c.n, c.stddev, c.gap, law.value, law.error_estimate, rows.value, rows.error);
    CHECK(std::abs(law.value - rows.value) <= law.error_estimate + 4.5 * rows.error);
    CHECK(law.error_estimate < 2e-3);
    // the plausible twin measures the gap from the law's mean
    const double uncentered = incontext::laws::needle_weight<double>(c.n, c.stddev, c.gap).value;
    twin = std::max(twin, std::abs(uncentered - rows.value) / (law.error_estimate + rows.error));
  }
  CHECK(twin > 8);
}

TEST_CASE("limits of the weight of a needle above the row's own mean", "[calibration]") {
  CHECK(std::abs(centered_needle_weight(10, 0, 2).value - 1 / (1 + 10 * std::exp(-2.0))) < 1e-14);
  const double far = incontext::laws::needle_weight<double>(1 << 22, 1.0, 14.0).value;
  CHECK(std::abs(centered_needle_weight(1 << 22, 1.0, 14.0).value / far - 1) < 1e-6);
  CHECK_THROWS_AS(centered_needle_weight(0, 1.0, 2.0), std::domain_error);
}
