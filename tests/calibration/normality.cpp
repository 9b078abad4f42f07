#include "incontext/calibration/normality.hpp"

#include <cmath>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::testing::normal_head;
using incontext::testing::student_head;

TEST_CASE("normal rows are rejected as often as they should be, also short ones", "[calibration]") {
  for (const std::int64_t keys : {5, 40}) {
    int alarms = 0, twin_alarms = 0;
    constexpr int runs = 300;
    for (int run = 0; run < runs; ++run) {
      const auto head = normal_head(256, keys, 2, static_cast<std::uint64_t>(1000 * keys + run)).measured();
      const BatchMeans& rows = head.buckets.front().full;
      alarms += test_normality(rows).p_value < 0.1 ? 1 : 0;
      // the twin: 3 in place of 3 (n - 1) / (n + 1)
      const auto n = static_cast<double>(keys);
      auto kurtosis = rows.estimate(RowStatistic::excess_kurtosis);
      kurtosis.mean -= 3 - 3 * (n - 1) / (n + 1);
      twin_alarms += incontext::statistics::p_value(incontext::statistics::agree(0.0, kurtosis)) < 0.05 ? 1 : 0;
    }
    CAPTURE(keys, alarms, twin_alarms);
    CHECK(alarms > 10);  // 30 expected, standard deviation 5.2
    CHECK(alarms < 52);
    CHECK(twin_alarms > 150);
  }
}

TEST_CASE("heavy tails and skewness are found", "[calibration]") {
  CHECK(test_normality(student_head(256, 64, 6, 3).measured().buckets.front().full).p_value < 1e-6);
  auto skewed = normal_head(256, 64, 1, 4);
  for (double& z : skewed.scores) z += 0.1 * z * z;
  const auto test = test_normality(skewed.measured().buckets.front().full);
  CHECK(test.p_value < 1e-6);
  CHECK(test.skewness.z > 6);
  const auto even = incontext::testing::head_of(100, 10, [](auto, auto) { return 2.0; });
  CHECK(std::isnan(test_normality(even.measured().buckets.front().full).p_value));
}
