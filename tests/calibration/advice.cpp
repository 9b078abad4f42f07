#include "incontext/calibration/advice.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::testing::Head;
using incontext::testing::head_of;

namespace {

/// A causal head of normal scores with a sink, whose score is `gap` higher.
Head sink_head(std::int64_t length, double stddev, double gap, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, stddev);
  return head_of(length, length, [&](std::int64_t q, std::int64_t k) {
    return k > q ? -std::numeric_limits<double>::infinity() : normal(generator) + (k == 0 ? gap : 0);
  });
}

Advice advice_for(const Head& head, std::optional<double> gap = {}) {
  const auto found = calibrate_heads({head.measured()});
  const auto array = head.array();
  return advise(longer_rows(std::span(&array, 1)), found.front(), {head.keys, 4 * head.keys}, gap);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("heads of each kind get their advice, with its reason", "[calibration]") {
  const Head normal = sink_head(512, 1, 0, 1);
  const auto mixes = advice_for(normal);
  CHECK(mixes.held == Held::entropy);
  CHECK(mixes.rule == "normal scores");
  CHECK(has(mixes.reason, "many keys share"));
  CHECK(mixes.error < mixes.next_error);
  CHECK(advice_for(normal, 5.0).held == Held::needle_weight);
  CHECK(has(advice_for(normal, 5.0).reason, "gap"));
  const auto finds = advice_for(sink_head(512, 0.5, 8, 2));
  CHECK(finds.held == Held::largest_weight);
  CHECK(finds.rule == "own scores, 1 needle");
  CHECK(has(finds.reason, "one key has"));
  // left alone
  CHECK_FALSE(advice_for(sink_head(256, 0.01, 0, 3)).held);
  CHECK(has(advice_for(sink_head(256, 0.01, 0, 3)).reason, "equal"));
  const auto unchanged = advice_for(sink_head(256, 0.01, 40, 3));
  CHECK_FALSE(unchanged.held);
  CHECK(has(unchanged.reason, "do not change"));
  const auto few = advice_for(sink_head(24, 3, 0, 4));
  CHECK_FALSE(few.held);
  CHECK(few.inverse_temperature.empty());
  // scores that grow with the position follow no rule
  Head growing = sink_head(256, 1, 0, 5);
  for (std::size_t q = 0; q < 256; ++q) {
    for (std::size_t k = 0; k <= q; ++k) growing.scores[256 * q + k] *= 0.5 + static_cast<double>(q) / 64;
  }
  CHECK_FALSE(advice_for(growing).held);
  CHECK(has(advice_for(growing).reason, "no rule predicts"));
}

TEST_CASE("the inverse temperature of own scores holds the quantity in fresh longer rows", "[calibration]") {
  const std::int64_t length = 256;
  const auto advice = advice_for(sink_head(length, 0.5, 7, 7));
  REQUIRE(advice.held == Held::largest_weight);
  CHECK(advice.inverse_temperature[0] == 1);
  const auto mean_largest = [](std::int64_t keys, double inverse_temperature, std::uint64_t seed) {
    Head head = incontext::testing::normal_head(400, keys, 0.5, seed);
    for (std::size_t q = 0; q < 400; ++q) head.scores[q * static_cast<std::size_t>(keys)] += 7;
    const auto measured = head.measured({.inverse_temperature = inverse_temperature});
    return measured.buckets.back().full.estimate(RowStatistic::largest_weight);
  };
  const auto now = mean_largest(length, 1, 8), held = mean_largest(4 * length, advice.inverse_temperature[1], 9),
             plain = mean_largest(4 * length, 1, 10);
  CAPTURE(now.mean, held.mean, plain.mean, advice.inverse_temperature[1]);
  CHECK(std::abs(held.mean / now.mean - 1) < 0.02);
  CHECK(plain.mean / now.mean < 0.9);
}

TEST_CASE("the inverse temperature of own scores solves its equation, or there is none", "[calibration]") {
  const std::vector<std::vector<double>> sample{{6, 1, 0.5, 0, -1}, {5, 2, 0, -0.5, -2}};
  double target = 0;
  for (const auto& row : sample) target += continued_row(row, 1, 5, 1).entropy / 2;
  const double beta = own_scores_temperature(sample, 1, Held::entropy, 50, target);
  double held = 0;
  for (const auto& row : sample) held += continued_row(row, 1, 50, beta).entropy / 2;
  CHECK(held == Approx(target).epsilon(1e-9));
  CHECK(beta > 1);
  CHECK(own_scores_temperature(sample, 1, Held::entropy, 5, target) == 1);
  // the highest score occurs twenty times: no inverse temperature brings the entropy below log 20
  CHECK(std::isnan(own_scores_temperature(sample, 0, Held::entropy, 100, target)));
}
