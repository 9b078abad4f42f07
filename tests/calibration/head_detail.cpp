#include "incontext/calibration/head_detail.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::statistics::Verdict;
using incontext::testing::arrays_of;
using incontext::testing::needle_head;
using incontext::testing::normal_head;

namespace {

HeadDetail detail_with(const incontext::testing::Head& head, const DetailOptions& wanted = {}) {
  const auto heads = calibrate_heads({head.measured()});
  return detail_of(head.array(), heads.front(), {}, wanted);
}

}  // namespace

TEST_CASE("a planted needle's weight agrees on normal rows, and not on others", "[calibration]") {
  int agreed = 0, judged = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const HeadDetail one = detail_with(normal_head(256, 64, 1.2, 100 * seed), {.gap = 5.0});
    REQUIRE(one.normal_law.back().quantity == "needle's weight");
    REQUIRE(one.held_out.back().quantity == "needle's weight");
    for (const auto* rows : {&one.normal_law, &one.held_out}) {
      ++judged;
      agreed += rows->back().verdict == Verdict::agrees;
    }
  }
  CHECK(judged == 60);
  CHECK(agreed >= 59);  // a false alarm in one of 1000 each
  // a sink takes the weight from the needle
  CHECK(detail_with(needle_head(256, 64, 6, true, 5), {.gap = 5.0}).normal_law.back().verdict == Verdict::disagrees);
}

TEST_CASE("one head in detail has its lengths, limits, rules and plans", "[calibration]") {
  const HeadDetail one = detail_with(normal_head(256, 128, 1.5, 3), {.trained_length = 64, .factors = {1, 4}});
  const double x = one.head.score_stddev;
  CHECK(one.gap == 4 * x);
  REQUIRE(one.lengths.size() == 1);
  CHECK(one.lengths[0].longest_row == 128);
  CHECK(one.lengths[0].score_stddev == x);
  CHECK(one.lengths[0].stddev_of_row_means < 0.3);
  CHECK(one.lengths[0].needle_weight_predicted == centered_needle_weight(128, x, 4 * x).value);
  CHECK(one.limits->trained_length == 64);
  CHECK(one.limits->freezing_ratio == x / std::sqrt(2 * std::log(64.0)));
  CHECK(one.limits->distinguishing_length == std::floor(distinguishing_length(4.0)));
  CHECK(one.rules[0].front().inverse_temperature.size() == 2);
  REQUIRE(one.plans.size() == 2);
  CHECK(one.plans[0].result.verdict == Verdict::agrees);
  // the plan moves whole rows from their own value to that of quarter rows
  CHECK(std::abs(one.plans[0].result.agreement.estimate.mean - one.plans[0].quarter_rows) <
        std::abs(one.plans[0].whole_rows - one.plans[0].quarter_rows) / 5);
  CHECK(all_agree(one.held_out));
}

TEST_CASE("scores that do not vary have lengths alone, and bad options are refused", "[calibration]") {
  const auto flat = incontext::testing::head_of(32, 16, [](std::int64_t, std::int64_t) { return 1.0; });
  const HeadDetail one = detail_with(flat);
  CHECK(one.lengths.size() == 1);
  CHECK(one.normal_law.empty());
  CHECK(!one.limits);
  const HeadDetail tiny = detail_with(normal_head(64, 16, 1e-9, 2));  // no temperature has the entropy log n
  CHECK(tiny.lengths.size() == 1);
  CHECK(!tiny.limits);
  const auto head = normal_head(64, 16, 1, 1);
  CHECK_THROWS_AS(detail_with(head, {.gap = 0.0}), std::domain_error);
  CHECK_THROWS_AS(detail_with(head, {.trained_length = 1}), std::invalid_argument);
  CHECK_THROWS_AS(detail_with(head, {.factors = {1, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(detail_with(head, {.factors = {2, 4}}), std::invalid_argument);
}

namespace {

/// Prompts of rows of 64 scores whose standard deviation differs from prompt to prompt, with a needle at any key.
struct PromptLaw {
  double stddev, stddev_differs, gap;

  std::vector<incontext::testing::Head> prompts(std::int64_t count, std::int64_t rows, std::uint64_t seed) const {
    std::mt19937_64 generator(seed);
    std::lognormal_distribution<double> factor(0, stddev_differs);
    std::vector<incontext::testing::Head> all;
    for (std::int64_t p = 0; p < count; ++p) {
      all.push_back(normal_head(rows, 64, stddev * factor(generator), generator()));
      for (std::int64_t row = 0; row < rows; ++row) {
        all.back().scores[static_cast<std::size_t>(64 * row) + generator() % 64] += gap;
      }
    }
    return all;
  }
};

}  // namespace

TEST_CASE("the trial never agrees where the truth is outside of what it states, over seeds", "[calibration]") {
  int agreed = 0, outside = 0, outside_of_quarter = 0, wrong = 0, noticed = 0;
  for (const PromptLaw& law :
       {PromptLaw{1, 0, 0}, PromptLaw{1, 0.1, 1.5}, PromptLaw{1, 0.1, 2.5}, PromptLaw{2, 0.2, 6}}) {
    const auto population = law.prompts(200, 32, 77);
    const auto pool = arrays_of(population);
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      const std::int64_t count = seed % 2 == 0 ? 16 : 64;
      const auto few = law.prompts(count, 32, 1000 + seed);
      const auto arrays = arrays_of(few);
      const auto head = calibrate_heads(measure_heads(arrays)).front();
      for (const TriedPlan& plan : detail::tried_plans(arrays, {}, head)) {
        const auto& result = plan.result;
        const auto again = measure_heads(pool, {.inverse_temperature = plan.inverse_temperature}).front();
        const auto which = plan.held == Held::entropy ? RowStatistic::entropy : RowStatistic::largest_weight;
        const auto truth = again.buckets.back().full.estimate(which);
        const double off = (std::abs(truth.mean - result.agreement.theory) - 3 * truth.standard_error) /
                           std::abs(result.agreement.theory);  // for certain
        const bool agrees = result.verdict == Verdict::agrees;
        agreed += agrees;
        outside += agrees && off > result.effect.within;
        outside_of_quarter += agrees && off > result.effect.within / 4;
        wrong += off > result.effect.resolution;
        noticed += off > result.effect.resolution && result.verdict == Verdict::disagrees;
        if (agrees) CHECK(result.conclusion.starts_with("agrees within "));
      }
    }
  }
  CAPTURE(agreed, outside, outside_of_quarter, wrong, noticed);
  CHECK(outside == 0);
  CHECK(agreed > 20);
  // the power check: a quarter of what is stated would be wrong often, and wrong plans are found
  CHECK(outside_of_quarter > 5);
  CHECK(wrong > 20);
  CHECK(noticed >= 0.85 * wrong);
}
