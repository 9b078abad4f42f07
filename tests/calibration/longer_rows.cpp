#include "incontext/calibration/longer_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::statistics::Verdict;
using incontext::testing::Head;
using incontext::testing::head_of;

namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

std::vector<double> normal_row(std::mt19937_64& generator, std::size_t count, double stddev) {
  std::normal_distribution<double> normal(0, stddev);
  std::vector<double> row(count);
  for (double& score : row) score = normal(generator);
  return row;
}

RowWeights weights_of(const std::vector<double>& row) {
  std::vector<double> scratch(row.size());
  const auto statistics = row_statistics(row, scratch);
  return {statistics[RowStatistic::entropy], statistics[RowStatistic::largest_weight]};
}

/// A causal head with normal scores, of which the last `recent` keys and the first `first` keys are higher by `gap`.
Head causal_head(std::int64_t length, double stddev, std::int64_t recent, std::int64_t first, double gap,
                 std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, stddev);
  return head_of(length, length, [&](std::int64_t q, std::int64_t k) {
    const double score = normal(generator) + (k <= q && (q - k < recent || k < first) ? gap : 0);
    return k <= q ? score : masked;
  });
}

/// As many causal heads of this kind as there are prompts, with the arrays that point to them.
struct Prompts {
  std::vector<Head> heads = {};
  std::vector<ScoreArray> arrays() const {
    std::vector<ScoreArray> all;
    for (const Head& head : heads) all.push_back(head.array());
    return all;
  }
};

LongerRows longer_rows_of(const Prompts& prompts) { return longer_rows(prompts.arrays()); }

}  // namespace

TEST_CASE("a row that becomes longer is the row in which each of its other scores occurs more often", "[calibration]") {
  std::mt19937_64 generator(1);
  auto row = normal_row(generator, 24, 2);
  std::sort(row.begin(), row.end(), std::greater<>());
  for (const std::int64_t needles : {0, 1, 4}) {
    for (const std::int64_t times : {1, 3}) {
      std::vector<double> literal(row.begin(), row.begin() + needles);
      for (std::int64_t t = 0; t < times; ++t) literal.insert(literal.end(), row.begin() + needles, row.end());
      const auto expected = weights_of(literal);
      const auto found = continued_row(row, needles, static_cast<double>(literal.size()), 1);
      CAPTURE(needles, times);
      CHECK(found.entropy == Approx(expected.entropy).epsilon(1e-12));
      CHECK(found.largest_weight == Approx(expected.largest_weight).epsilon(1e-12));
    }
  }
  const auto same = continued_row(row, 24, 1000, 1);
  CHECK(same.entropy == Approx(weights_of(row).entropy).epsilon(1e-12));
  for (double& score : row) score *= 0.7;
  CHECK(continued_row(row, 1, 70, 1).entropy == Approx([&] {
                                                  auto hotter = row;
                                                  for (double& score : hotter) score /= 0.7;
                                                  return continued_row(hotter, 1, 70, 0.7).entropy;
                                                }())
                                                    .epsilon(1e-12));
}

TEST_CASE("a row that becomes longer has the mean weights of the bootstrap where many scores share them",
          "[calibration]") {
  std::mt19937_64 generator(2);
  auto row = normal_row(generator, 256, 1);
  row[17] += 6;
  std::sort(row.begin(), row.end(), std::greater<>());
  constexpr int trials = 400;
  constexpr std::size_t longer = 1024;
  for (const std::int64_t needles : {0, 1}) {
    std::vector<double> entropies;
    std::uniform_int_distribution<std::size_t> any(static_cast<std::size_t>(needles), row.size() - 1);
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> drawn(row.begin(), row.begin() + needles);
      while (drawn.size() < longer) drawn.push_back(row[any(generator)]);
      entropies.push_back(weights_of(drawn).entropy);
    }
    const incontext::statistics::Estimate mean(
        incontext::statistics::moments_of(entropies.data(), trials, incontext::statistics::SerialWays{}));
    const double found = continued_row(row, needles, longer, 1).entropy;
    const double other = continued_row(row, 1 - needles, longer, 1).entropy;
    CAPTURE(needles, found, mean.mean, mean.standard_error);
    // of second order in 1/longer where one needle is single; without a needle the number of its copies varies
    if (needles == 1) CHECK(std::abs(found - mean.mean) < 4 * mean.standard_error + 2e-3);
    CHECK(std::abs(other - mean.mean) > 20 * mean.standard_error);
  }
}

TEST_CASE("heads that are made by a rule choose it, of one prompt and of several", "[calibration]") {
  const auto chosen = [](const Prompts& prompts) {
    const auto found = longer_rows_of(prompts);
    REQUIRE(found.rules.size() == 6);
    CHECK(found.rows_grow);
    return found.rules[found.best];
  };
  Prompts normal{{causal_head(512, 1, 0, 0, 0, 1)}};
  CHECK(chosen(normal).law == LongerRowLaw::normal_scores);
  CHECK(chosen(normal).entropy.verdict == Verdict::agrees);
  Prompts sink{{causal_head(256, 1, 0, 1, 7, 2)}};
  CHECK(chosen(sink).needles == 1);
  CHECK(chosen(sink).law == LongerRowLaw::own_scores);
  Prompts two{{causal_head(256, 1, 1, 1, 7, 3)}};
  CHECK(chosen(two).needles == 2);
  Prompts previous{{causal_head(256, 1, 1, 0, 30, 4)}};  // the same token has all of the weight at every length
  CHECK(chosen(previous).law == LongerRowLaw::unchanged_weights);
  CHECK(chosen(previous).error < 1e-6);
  Prompts several;
  for (std::uint64_t p = 0; p < 48; ++p) {
    several.heads.push_back(causal_head(64 + static_cast<std::int64_t>(3 * p), 1, 0, 1, 7, 10 + p));
  }
  CHECK(chosen(several).needles == 1);
  CHECK(chosen(several).entropy.agreement.estimate.count == 24);
}

TEST_CASE("without earlier queries the rows are cut, and few rows have no rules", "[calibration]") {
  const Prompts whole{{incontext::testing::normal_head(128, 128, 1, 5)}};
  const auto found = longer_rows_of(whole);
  CHECK_FALSE(found.rows_grow);
  REQUIRE(found.rules.size() == 6);
  CHECK(found.rules[found.best].law == LongerRowLaw::normal_scores);
  CHECK(found.sample.size() == 64);
  CHECK(std::is_sorted(found.sample[0].begin(), found.sample[0].end(), std::greater<>()));
  CHECK(longer_rows_of({{incontext::testing::normal_head(7, 128, 1, 5)}}).rules.empty());
}

TEST_CASE("a rule never agrees where it is wrong by more than is stated, over seeds", "[calibration]") {
  // the truth of each rule at these lengths, from many rows
  Prompts many;
  for (std::uint64_t p = 0; p < 400; ++p) many.heads.push_back(causal_head(64, 2, 0, 1, 6, 1000 + p));
  const auto truth = longer_rows_of(many);
  int agreed = 0, outside = 0, wrong_and_seen = 0, wrong = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Prompts few;
    for (std::uint64_t p = 0; p < 16; ++p) few.heads.push_back(causal_head(64, 2, 0, 1, 6, 5000 + 100 * seed + p));
    const auto found = longer_rows_of(few);
    for (std::size_t rule = 0; rule < found.rules.size(); ++rule) {
      for (const auto quantity : {&LongerRowRule::entropy, &LongerRowRule::largest_weight}) {
        const auto& known = (truth.rules[rule].*quantity).effect;
        const auto& one = found.rules[rule].*quantity;
        const double off = std::abs(known.deviation) - 4 * known.deviation_error;  // for certain
        agreed += one.verdict == Verdict::agrees;
        outside += one.verdict == Verdict::agrees && off > one.effect.within;
        wrong += off > one.effect.resolution;
        wrong_and_seen += off > one.effect.resolution && one.verdict == Verdict::disagrees;
      }
    }
  }
  CAPTURE(agreed, outside, wrong, wrong_and_seen);
  CHECK(outside == 0);
  CHECK(agreed > 50);
  CHECK(wrong > 50);
  CHECK(wrong_and_seen >= 0.9 * wrong);
}
