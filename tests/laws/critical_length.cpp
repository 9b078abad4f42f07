#include "incontext/laws/critical_length.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "incontext/laws/fading_thresholds.hpp"
#include "support/catch.hpp"
#include "support/sample_mean.hpp"

using namespace incontext;

namespace critical_length_test {

using incontext::testing::SampleMean;

namespace {

/// The needle's weight in drawn rows of n scores.
SampleMean drawn(std::int64_t n, double beta, double stddev, double score, int rows, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, stddev);
  SampleMean weight;
  for (int row = 0; row < rows; ++row) {
    double others = 0;
    for (std::int64_t j = 1; j < n; ++j) others += std::exp(beta * (normal(engine) - score));
    weight.add(1 / (1 + others));
  }
  return weight;
}

}  // namespace

TEST_CASE("the critical length of softmax is the last of all lengths, one after the other, that keep the weight") {
  for (const double weight : {0.1, 0.5, 0.9}) {
    for (const double gap : {-1.0, 1.0, 3.0}) {
      const auto found = laws::softmax_critical_length(1.3, gap, weight);
      std::int64_t last = 1;
      for (std::int64_t n = 2; n < 300; ++n) {
        if (laws::needle_weight(n - 1, 1.3, gap).value >= weight) last = n;
      }
      CHECK(found.length == static_cast<double>(last));
      CHECK(found.weight_beyond < weight);
      if (last > 1) CHECK(found.weight >= weight);
    }
  }
}

TEST_CASE("without noise the critical length is that of a row of two levels") {
  for (const double gap : {0.5, 4.0, 12.3}) {
    for (const double weight : {0.2, 0.5, 0.95}) {
      const double real = laws::two_level_count(gap, weight);
      CHECK(laws::softmax_critical_length(0.0, gap, weight).length == std::max(1.0, std::floor(real)));
    }
  }
}

TEST_CASE("drawn rows of the critical length keep the weight, and rows a tenth longer do not") {
  const auto softmax = laws::softmax_critical_length(1.0, 4.5);
  CHECK(softmax.length == 56);
  const SampleMean at = drawn(56, 1.0, 1.0, 4.5, 100'000, 1);
  CHECK(std::abs(at.z(softmax.weight)) < 5);
  CHECK(std::abs(at.z(laws::needle_weight(61, 1.0, 4.5).value)) > 5);  // Power
  // Annealed, n - 1 = e^(m - v/2): right for many competitors, wrong where a few carry the weight.
  const auto wild = laws::softmax_critical_length(3.0, 9.0);
  const double annealed = 1 + std::exp(9.0 - 4.5);
  const SampleMean there = drawn(static_cast<std::int64_t>(annealed), 1.0, 3.0, 9.0, 100'000, 2);
  CHECK(std::abs(there.z(0.5)) > 5);
  CHECK(wild.length > 1.5 * annealed);
  const SampleMean exact = drawn(static_cast<std::int64_t>(wild.length), 1.0, 3.0, 9.0, 20'000, 3);
  CHECK(std::abs(exact.z(wild.weight)) < 5);
}

TEST_CASE("the critical length of SSMax: beyond the dip of short rows, and where its competitors freeze") {
  const auto found = laws::ssmax_critical_length(0.43, 1.0, 4.5, 0.9);
  CHECK(found.length == 817);
  CHECK(laws::needle_weight(1, 0.43 * std::log(2.0), 0.43 * std::log(2.0) * 4.5).value < 0.9);  // the dip at n = 2
  const double beta = 0.43 * std::log(817.0);
  CHECK(std::abs(drawn(817, beta, 1.0, 4.5, 20'000, 4).z(found.weight)) < 5);
  // a needle above the gap 1/s of equal competitors is kept for ever without noise, and lost with it
  for (const auto& endless :
       {laws::ssmax_critical_length(0.43, 0.0, 4.5), laws::ssmax_critical_length(0.43, 1.0, 8.0)}) {
    CHECK(endless.length == INFINITY);
    CHECK(std::isnan(endless.weight_beyond));
    CHECK(endless.weight > 0.5);
  }
  CHECK(laws::ssmax_critical_length(0.43, 1.0, 4.5).length < 100'000);
}

TEST_CASE("critical lengths refuse what is no weight") {
  CHECK_THROWS_AS(laws::softmax_critical_length(1.0, 4.0, 1.0), std::domain_error);
  CHECK_THROWS_AS(laws::softmax_critical_length(-1.0, 4.0), std::domain_error);
  CHECK_THROWS_AS(laws::ssmax_critical_length(0.0, 1.0, 4.0), std::domain_error);
}

}  // namespace critical_length_test
