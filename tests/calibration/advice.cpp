#include "incontext/calibration/advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::testing::arrays_of;
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
  const auto longer = longer_rows(std::span(&array, 1), {.needle_gap = gap.value_or(0)});
  return advise(longer, found.front(), {head.keys, 4 * head.keys}, gap);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a head whose entropy is nearly that of equal weights is left alone, and a wider one is not",
          "[calibration]") {
  for (const auto& [x, is_held] : {std::pair{0.2, false}, {0.35, false}, {0.7, true}}) {
    const Advice advice = advice_for(sink_head(512, x, 0, 6));
    CAPTURE(x, advice.reason);
    CHECK(advice.held.has_value() == is_held);
    CHECK(has(advice.reason, "below that of equal weights: nothing to hold") != is_held);
  }
}

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

namespace {

/// Causal heads of normal scores, one for each of 64 prompts, whose widths are lognormal: e^(spread N(0, 1)).
std::vector<Head> prompts_of_widths(std::int64_t length, double spread, std::uint64_t seed) {
  std::mt19937_64 widths(seed), generator(1000 * seed + static_cast<std::uint64_t>(length));
  std::normal_distribution<double> normal;
  std::vector<Head> heads;
  for (int prompt = 0; prompt < 64; ++prompt) {
    const double width = std::exp(spread * std::normal_distribution<double>()(widths));
    heads.push_back(head_of(length, length, [&](std::int64_t q, std::int64_t k) {
      return k > q ? -std::numeric_limits<double>::infinity() : width * normal(generator);
    }));
  }
  return heads;
}

/// The mean entropy of the last quarter of the rows.
double entropy_of(const std::vector<Head>& heads, double inverse_temperature) {
  double sum = 0, rows = 0;
  for (const Head& head : heads) {
    for (std::int64_t q = head.queries - head.queries / 4; q < head.queries; ++q, ++rows) {
      const std::span row(&head.scores[static_cast<std::size_t>(q * head.keys)], static_cast<std::size_t>(q + 1));
      sum += continued_row(row, 0, static_cast<double>(q + 1), inverse_temperature).entropy;
    }
  }
  return sum / rows;
}

}  // namespace

TEST_CASE(
    "an inverse temperature that misses on a head's own rows is no advice, and one that holds there does in fresh "
    "longer rows",
    "[calibration]") {
  int passed_by_rule = 0, missed_by_rule = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const double spread : {0.0, 0.35, 0.7}) {
      CAPTURE(seed, spread);
      const auto heads = prompts_of_widths(64, spread, seed);
      const auto arrays = arrays_of(heads);
      const auto found = calibrate_heads(measure_heads(arrays));
      const LongerRows longer = longer_rows(arrays);
      const Advice advice = advise(longer, found.front(), {64, 128});
      const auto miss_of = [&](double inverse_temperature) {
        const auto twice = prompts_of_widths(128, spread, seed);
        return std::abs(entropy_of(twice, inverse_temperature) - entropy_of(heads, 1));
      };
      if (spread == 0) {
        REQUIRE(advice.held == Held::entropy);
        CHECK(advice.tried->error < 0.05);
        CHECK(miss_of(advice.inverse_temperature[1]) < 0.05);
      } else if (advice.held) {
        CHECK(miss_of(advice.inverse_temperature[1]) < largest_rule_error);
      }
      const LongerRowRule& best = longer.rules[longer.best];
      if (spread == 0.7 && best.error < largest_rule_error) {
        // what the rule's error at inverse temperature 1 does not tell
        const HeadScores<double> normal{.score_stddev = found.front().score_stddev};
        const auto betas =
            longer_row_temperatures(best.law, best.needles, longer.sample, normal, Held::entropy, {64, 128});
        ++passed_by_rule;
        missed_by_rule += miss_of(betas.inverse_temperature[1]) > largest_rule_error;
        CHECK_FALSE(advice.held);
        const bool says_why = has(advice.reason, "misses the entropy of its own rows") ||
                              has(advice.reason, "too few") || has(advice.reason, "differ in width");
        CHECK(says_why);
      }
    }
  }
  CHECK(passed_by_rule >= 6);
  CHECK(2 * missed_by_rule >= passed_by_rule);
}

TEST_CASE("each gate of the advice refuses a head that is good but for it", "[calibration]") {
  const Head head = sink_head(512, 1, 0, 1);
  const auto found = calibrate_heads({head.measured()}).front();
  const auto array = head.array();
  const LongerRows good = longer_rows(std::span(&array, 1));
  const auto advice = [&](const LongerRows& longer) { return advise(longer, found, {512, 1024}); };
  REQUIRE(advice(good).held == Held::entropy);
  REQUIRE(good.tried[0].held == Held::entropy);
  const auto reason_with = [&](const auto& change) {
    LongerRows changed = good;
    change(changed);
    const Advice one = advice(changed);
    CHECK_FALSE(one.held);
    CHECK(one.inverse_temperature.empty());
    return one.reason;
  };
  CHECK(has(reason_with([](LongerRows& one) { one.tried[0].error = 0.11; }), "misses the entropy"));
  const double theory = good.tried[0].result.agreement.theory;
  CHECK(has(reason_with([&](LongerRows& one) { one.tried[0].result.effect.within = 0.26 / theory; }), "may be wrong"));
  CHECK(has(reason_with([](LongerRows& one) {
              one.tried[0].inverse_temperature = std::numeric_limits<double>::quiet_NaN();
              one.tried[0].reason = "of this";
            }),
            "no inverse temperature holds the entropy"));
  CHECK(has(reason_with([](LongerRows& one) { one.tried.clear(); }), "was not tried"));
  CHECK(has(reason_with([](LongerRows& one) { one.rules[one.best].error = 0.11; }), "as it may be by chance"));
  const auto reason_of = [&](double error, double deviation, double within) {
    return reason_with([&](LongerRows& one) {
      LongerRowRule& best = one.rules[one.best];
      best.error = error;
      best.entropy.effect = {};  // unknown
      best.largest_weight.effect.deviation = deviation;
      best.largest_weight.effect.within = within;
    });
  };
  CHECK(has(reason_of(0.5, 0.5, 0.6), "no rule predicts"));
  CHECK(has(reason_of(0.31, 0.31, 0.57), "no rule is known to predict"));  // at least 5%
  CHECK(has(reason_of(0.31, 0.31, 0.7), "as it may be by chance"));
  CHECK_THROWS_AS(advise(good, found, {512, 1024}, 3.0), std::invalid_argument);  // good was measured without a gap
}

TEST_CASE("64 normal rows are too few to say that no rule predicts longer ones", "[calibration]") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal(0, 2);
    const auto score = [&](std::int64_t, std::int64_t) { return normal(generator); };
    const Advice one = advice_for(head_of(64, 256, score));
    INFO("seed " << seed << ": " << one.reason);
    CHECK_FALSE(has(one.reason, "no rule predicts"));
    CHECK((one.held || has(one.reason, "too few")));
  }
}

TEST_CASE("a needle that has all of the weight, or none of it, is no ground for a temperature", "[calibration]") {
  const Head head = sink_head(256, 1, 0, 1);
  CHECK_FALSE(advice_for(head, 300.0).held);
  CHECK(has(advice_for(head, 300.0).reason, "all of the weight"));
  CHECK_FALSE(advice_for(head, 1e-3).held);
  CHECK(has(advice_for(head, 1e-3).reason, "not above"));
}

TEST_CASE("rows that vary by less than rounding are left alone", "[calibration]") {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  const Head head = head_of(256, 256, [&](std::int64_t q, std::int64_t k) {
    return k > q ? -std::numeric_limits<double>::infinity() : (q < 128 ? 1e-8 : 0.05) * normal(generator);
  });
  CHECK_FALSE(advice_for(head).held);
  CHECK(has(advice_for(head).reason, "equal"));
}

TEST_CASE("temperatures by own scores are refused where these do not tell them", "[calibration]") {
  const std::vector<std::vector<double>> sample{{1, 0, -1}};
  const HeadScores<double> normal{.score_stddev = 1};
  const auto asked = [&](LongerRowLaw law, const auto& rows, Held held) {
    return longer_row_temperatures(law, 0, rows, normal, held, {3, 6});
  };
  CHECK_THROWS_AS(asked(LongerRowLaw::unchanged_weights, sample, Held::entropy), std::invalid_argument);
  CHECK_THROWS_AS(asked(LongerRowLaw::own_scores, sample, Held::needle_weight), std::invalid_argument);
  CHECK_THROWS_AS(asked(LongerRowLaw::own_scores, std::vector<std::vector<double>>{}, Held::entropy),
                  std::invalid_argument);
  CHECK(asked(LongerRowLaw::own_scores, sample, Held::entropy).inverse_temperature[0] == 1);
}

TEST_CASE("the sampled rows of prompts have all lengths of long rows", "[calibration]") {
  const auto longer = longer_rows(arrays_of(prompts_of_widths(64, 0, 1)));
  REQUIRE(longer.sample.size() == 64);
  std::vector<std::size_t> lengths;
  double sum = 0;
  for (const auto& row : longer.sample) {
    sum += static_cast<double>(row.size());
    lengths.push_back(row.size());
  }
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  CHECK(lengths.size() > 20);
  CHECK(sum / 64 == Approx((33 + 64) / 2.0).margin(2));
}

TEST_CASE("rows that differ in width are told from rows of one law, also of one with a sink", "[calibration]") {
  const auto difference = [](const std::vector<Head>& heads) {
    return width_difference(calibrate_heads(measure_heads(arrays_of(heads))).front().rows);
  };
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    CHECK(difference(prompts_of_widths(64, 0, seed)) < 0.05);
    CHECK(difference({sink_head(256, 1, 8, seed)}) < 0.15);
    // of lognormal widths: sqrt(e^(4 spread^2) - 1) / 2 = 0.40, and the scatter of 64 of them
    const double found = difference(prompts_of_widths(64, 0.35, seed));
    CHECK(found > 0.25);
    CHECK(found < 0.6);
  }
}

TEST_CASE("the needle's inverse temperature is tried with the needle planted", "[calibration]") {
  const Head normal = sink_head(512, 1, 0, 1);
  const auto array = normal.array();
  const auto longer = longer_rows(std::span(&array, 1), {.needle_gap = 5});
  REQUIRE(longer.tried.size() == 3);
  const TriedTemperature& needle = longer.tried[2];
  CHECK(needle.held == Held::needle_weight);
  CHECK(needle.inverse_temperature > 1);
  CHECK(needle.error < 0.02);
  CHECK(needle.shorter < needle.longer);
  // beside the weight of one more score in the rows themselves
  const auto weight = [&](std::int64_t from, std::int64_t to, double inverse_temperature) {
    double sum = 0;
    for (std::int64_t q = from; q < to; ++q) {
      const auto row =
          std::span(normal.scores).subspan(static_cast<std::size_t>(512 * q), static_cast<std::size_t>(q + 1));
      const double mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
      double others = 0;
      for (const double score : row) others += std::exp(inverse_temperature * (score - mean - 5));
      sum += 1 / (1 + others) / static_cast<double>(to - from);
    }
    return sum;
  };
  CHECK(weight(256, 512, needle.inverse_temperature) == Approx(needle.result.agreement.estimate.mean).epsilon(0.03));
  CHECK(weight(128, 256, 1) == Approx(needle.result.agreement.theory).epsilon(0.03));
  CHECK(std::abs(weight(256, 512, 1) / weight(128, 256, 1) - 1) > 0.1);
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
