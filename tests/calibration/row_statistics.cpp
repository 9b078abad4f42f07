#include "incontext/calibration/row_statistics.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace incontext::calibration;

namespace {

RowStatistics of(const std::vector<double>& scores, double gap = 0) {
  std::vector<double> scratch(scores.size());
  return row_statistics(scores, scratch, gap);
}

/// The definitions, in long double and without a shift by the highest score.
RowStatistics directly(const std::vector<double>& scores, double gap) {
  const auto n = static_cast<long double>(scores.size());
  long double mean = 0, partition = 0, highest = -INFINITY;
  for (const double z : scores) {
    mean += z / n;
    partition += std::exp(static_cast<long double>(z));
    highest = std::max(highest, static_cast<long double>(z));
  }
  long double second = 0, third = 0, fourth = 0, entropy = 0, ipr = 0;
  for (const double z : scores) {
    second += std::pow(z - mean, 2) / n;
    third += std::pow(z - mean, 3) / n;
    fourth += std::pow(z - mean, 4) / n;
    const long double a = std::exp(static_cast<long double>(z)) / partition;
    entropy -= a * std::log(a);
    ipr += a * a;
  }
  RowStatistics row{};
  row[RowStatistic::mean] = static_cast<double>(mean);
  row[RowStatistic::variance] = static_cast<double>(second * n / (n - 1));
  row[RowStatistic::skewness] = static_cast<double>(third / std::pow(second, 1.5L));
  row[RowStatistic::excess_kurtosis] = static_cast<double>(fourth / (second * second) - 3 * (n - 1) / (n + 1));
  row[RowStatistic::highest] = static_cast<double>((highest - mean) / std::sqrt(second * n / (n - 1)));
  row[RowStatistic::entropy] = static_cast<double>(entropy);
  row[RowStatistic::ipr] = static_cast<double>(ipr);
  row[RowStatistic::largest_weight] = static_cast<double>(std::exp(highest) / partition);
  const long double needle = std::exp(mean + gap);
  row[RowStatistic::needle_weight] = static_cast<double>(needle / (needle + partition));
  return row;
}

}  // namespace

TEST_CASE("statistics of a row equal their definitions", "[calibration]") {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  for (const int n : {2, 3, 17, 1000}) {
    for (const double stddev : {0.01, 1.0, 8.0}) {
      std::vector<double> scores;
      for (int j = 0; j < n; ++j) scores.push_back(5 + stddev * normal(generator));
      const RowStatistics row = of(scores, 2.5), expected = directly(scores, 2.5);
      for (const RowStatistic which : {RowStatistic::mean, RowStatistic::variance, RowStatistic::skewness,
                                       RowStatistic::excess_kurtosis, RowStatistic::highest, RowStatistic::entropy,
                                       RowStatistic::ipr, RowStatistic::largest_weight, RowStatistic::needle_weight}) {
        CAPTURE(n, stddev, static_cast<int>(which), row[which], expected[which]);
        CHECK(std::abs(row[which] - expected[which]) <= 1e-11 * (1 + std::abs(expected[which])));
      }
    }
  }
}

TEST_CASE("equal scores have no moments and even weights, and octaves end at powers of two", "[calibration]") {
  const RowStatistics even = of(std::vector<double>(100, 0.1));
  CHECK(even[RowStatistic::variance] == 0);
  CHECK(even[RowStatistic::skewness] == 0);
  CHECK(std::abs(even[RowStatistic::entropy] - std::log(100)) < 1e-13);
  CHECK(std::abs(even[RowStatistic::ipr] - 0.01) < 1e-15);
  CHECK(octave_of(1) == 0);
  CHECK(octave_of(512) == 9);
  CHECK(octave_of(513) == 10);
  CHECK(std::abs(of({1, 2, 3})[RowStatistic::log_length] - std::log(0.75)) < 1e-15);
}

TEST_CASE("the kurtosis of a row of two or three scores is that of every such row", "[calibration]") {
  CHECK(std::abs(of({1, 5})[RowStatistic::excess_kurtosis]) < 1e-14);
  CHECK(std::abs(of({1, 5, -2})[RowStatistic::excess_kurtosis]) < 1e-14);
}
