#include "incontext/calibration/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::calibration;
using incontext::statistics::Estimate;
using incontext::testing::arrays_of;
using incontext::testing::Head;
using incontext::testing::normal_head;
using incontext::testing::refuses;

namespace {

Estimate estimated(double mean, double error) {
  Estimate estimate;
  estimate.count = 1 << 30;
  estimate.mean = mean;
  estimate.standard_error = error;
  return estimate;
}

/// Prompts of several lengths, whose scores are normal and have the standard deviation x(length).
template <class Width>
std::vector<Head> prompts_of(const std::vector<std::int64_t>& lengths, std::int64_t each, const Width& width) {
  std::vector<Head> prompts;
  for (const std::int64_t length : lengths) {
    for (std::int64_t p = 0; p < each; ++p) {
      prompts.push_back(normal_head(length, length, width(length), static_cast<std::uint64_t>(1000 * length + p)));
    }
  }
  return prompts;
}

template <class Width>
HeadForecast forecast_of(const std::vector<std::int64_t>& lengths, const Width& width, std::int64_t up_to = 0) {
  const std::vector<Head> prompts = prompts_of(lengths, 12, width);
  return forecast_heads(arrays_of(prompts), {}, 512, up_to).front();
}

/// The mean entropy of the rows of all prompts, at an inverse temperature, by sums in long double.
double literal_entropy(const std::vector<Head>& prompts, double inverse_temperature) {
  long double entropy = 0;
  std::int64_t rows = 0;
  for (const Head& prompt : prompts) {
    for (std::int64_t q = 0; q < prompt.queries; ++q, ++rows) {
      const double* const row = prompt.scores.data() + q * prompt.keys;
      long double sum = 0, weighted = 0;
      for (std::int64_t k = 0; k < prompt.keys; ++k) {
        const long double score = static_cast<long double>(inverse_temperature) * row[k], weight = std::exp(score);
        sum += weight;
        weighted += weight * score;
      }
      entropy += std::log(sum) - weighted / sum;
    }
  }
  return static_cast<double>(entropy / rows);
}

/// The smallest number of keys that keep a part of the weight, on average over all rows, from sorted weights.
std::int64_t literal_keys(const std::vector<Head>& prompts, double part) {
  std::vector<double> kept(static_cast<std::size_t>(prompts.front().keys), 0);
  for (const Head& prompt : prompts) {
    for (std::int64_t q = 0; q < prompt.queries; ++q) {
      std::vector<double> weights(prompt.scores.begin() + q * prompt.keys,
                                  prompt.scores.begin() + (q + 1) * prompt.keys);
      double sum = 0, above = 0;
      for (double& weight : weights) sum += weight = std::exp(weight);
      std::sort(weights.begin(), weights.end(), std::greater<>());
      for (std::size_t k = 0; k < weights.size(); ++k) kept[k] += (above += weights[k] / sum);
    }
  }
  const double rows = static_cast<double>(prompts.front().queries) * static_cast<double>(prompts.size());
  return 1 + std::count_if(kept.begin(), kept.end(), [&](double one) { return one < part * rows; });
}

}  // namespace

TEST_CASE("a drift goes on between not at all and as before", "[calibration]") {
  const auto found = extrapolated_drift(estimated(1, 0), estimated(1.2, 0), 1, 3);
  CHECK(found.value == Approx(1.5));
  CHECK(found.low == Approx(1.2 - 3 * drift_margin));
  CHECK(found.high == Approx(1.8 + 3 * drift_margin));
  const auto falling = extrapolated_drift(estimated(1.2, 0), estimated(1, 0), 2, 2);
  CHECK(falling.low == Approx(0.8 - 2 * drift_margin));
  CHECK(falling.high == Approx(1 + 2 * drift_margin));
  constexpr double t = 1.959963984540054;  // Student's 97.5% quantile for very many values
  const auto here = extrapolated_drift(estimated(1, 0.3), estimated(1.2, 0.1), 1, 0);
  CHECK(here.value == 1.2);
  CHECK(here.high - here.low == Approx(2 * t * 0.1));
  const auto uncertain = extrapolated_drift(estimated(1, 0.3), estimated(1.1, 0.4), 1, 2);
  CHECK(uncertain.high == Approx(1.3 + 2 * drift_margin + t * std::hypot(3 * 0.4, 2 * 0.3)));
  CHECK(uncertain.low == Approx(1.3 - 2 * drift_margin - t * std::hypot(3 * 0.4, 2 * 0.3)));
  Estimate two = estimated(1, 0.1);
  two.count = 2;
  CHECK(extrapolated_drift(two, two, 1, 0).high == Approx(1 + 12.706204736174694 * 0.1));
  two.count = 1;
  CHECK(std::isinf(extrapolated_drift(two, two, 1, 1).high));
  const Estimate one = estimated(1, 0);
  CHECK(refuses([&] { extrapolated_drift(one, one, 0, 1); }, {"doublings_between", "value = 0"}));
  CHECK(refuses([&] { extrapolated_drift(one, one, 1, -1); }, {"doublings_ahead", "value = -1"}));
}

TEST_CASE("what is measured at the longer length is what its rows have", "[calibration]") {
  const auto width = [](std::int64_t length) { return 1.5 + 0.1 * std::log2(static_cast<double>(length)); };
  std::vector<Head> prompts = prompts_of({16, 32}, 6, width);
  const std::vector<Head> longer = prompts_of({32}, 6, width), ahead = prompts_of({64}, 6, width);
  prompts.insert(prompts.end(), ahead.begin(), ahead.end());
  const HeadForecast head = forecast_heads(arrays_of(prompts), {}, 64).front();
  CHECK(head.row_length == 64);
  CHECK(head.longer == 32);
  CHECK(head.shorter == 16);
  CHECK(head.entropy.measured == Approx(literal_entropy(ahead, 1)).epsilon(1e-12));
  const double held = literal_entropy(ahead, head.inverse_temperature.measured);
  CHECK(held == Approx(literal_entropy(longer, 1)).margin(0.005));  // between measured inverse temperatures: a chord
  CHECK(std::abs(head.inverse_temperature.measured - 1) > 0.1);
  CHECK(std::ceil(head.keys_for_95.measured) == Approx(static_cast<double>(literal_keys(ahead, 0.95))).margin(1));
}

TEST_CASE("normal rows, also wider ones in longer prompts, are covered", "[calibration]") {
  for (const double x : {0.5, 1.5, 2.5, 4.0}) {
    for (const double per_doubling : {0.0, 0.05}) {
      const auto width = [&](std::int64_t length) {
        return x * (1 + per_doubling * std::log2(static_cast<double>(length) / 64));
      };
      const HeadForecast head = forecast_of({32, 64, 512}, width);
      CAPTURE(x, per_doubling, head.entropy.value, head.entropy.measured, head.keys_for_95.value,
              head.keys_for_95.measured, head.inverse_temperature.value, head.inverse_temperature.measured);
      CHECK(head.entropy.covered);
      CHECK(head.keys_for_95.covered);
      CHECK(head.inverse_temperature.covered);
    }
  }
}

TEST_CASE("from the longest prompts alone, or from a drift that grows, the forecast would miss", "[calibration]") {
  const auto width = [](std::int64_t length) { return 1.5 * (1 + 0.1 * std::log2(static_cast<double>(length) / 64)); };
  const HeadForecast head = forecast_of({32, 64, 512}, width);
  const double unchanged = std::log(512) - (std::log(64) - literal_entropy(prompts_of({64}, 12, width), 1));
  CHECK(head.entropy.measured < unchanged - 3 * drift_margin - 0.1);
  const auto grows = [](std::int64_t length) {
    return 1 + std::max(0.0, std::log2(static_cast<double>(length) / 64));  // 1 up to 64, and 4 at 512
  };
  CHECK_FALSE(forecast_of({32, 64, 512}, grows).entropy.covered);
  const auto widens = [](std::int64_t length) { return 2.5 * (1 + 0.2 * std::log2(static_cast<double>(length) / 64)); };
  CHECK_FALSE(forecast_of({32, 64, 512}, widens).keys_for_95.covered);  // the loss grows as the square of the width
}

TEST_CASE("a forecast is made from the rows that up_to allows, and without any that it is about", "[calibration]") {
  const auto width = [](std::int64_t) { return 1.0; };
  CHECK(forecast_of({16, 32, 64, 512}, width).longer == Approx(64));
  CHECK(forecast_of({16, 32, 64, 512}, width, 32).longer == Approx(32));
  const HeadForecast blind = forecast_of({16, 32}, width);
  CHECK(blind.row_length == 512);
  CHECK(std::isnan(blind.entropy.measured));
  CHECK_FALSE(blind.entropy.covered);
  const HeadForecast told = forecast_of({16, 32, 512}, width);
  CHECK(told.entropy.value == Approx(blind.entropy.value).epsilon(1e-12));
  CHECK(told.keys_for_95.high == Approx(blind.keys_for_95.high).epsilon(1e-12));
  CHECK(refuses(
      [&] {
        forecast_of({64, 512}, width);
      },
      {"layer 0, head 0", "at most 448 keys", "value = 1", "64 to 512 keys"}));
  CHECK(refuses([&] { forecast_of({16, 32, 64}, width, 31); }, {"at most 31 keys", "value = 1"}));
  CHECK(refuses<std::invalid_argument>(
      [&] {
        forecast_of({16, 32}, width, std::int64_t{1} << 62);
      },
      {"up_to is too large"}));
  const HeadForecast near_ahead = forecast_of({32, 64, 300, 480}, width, 64);  // rows of 300 are no rows of 512
  CHECK(near_ahead.row_length == 480);
  CHECK(std::isnan(forecast_of({32, 64, 300}, width, 64).entropy.measured));
  CHECK(refuses<std::invalid_argument>([&] { forecast_of({16, 32}, width, -1); }, {"up_to is too small (value = -1"}));
  const MeasurementOptions cold{.inverse_temperature = 0};
  const std::vector<Head> prompts = prompts_of({64}, 1, width);
  CHECK(refuses([&] { forecast_heads(arrays_of(prompts), cold, 512); }, {"forecast_heads", "inverse_temperature"}));
  CHECK(refuses<std::invalid_argument>([&] { forecast_heads(arrays_of(prompts), {}, 7); },
                                       {"row_length is too small (value = 7"}));
}

TEST_CASE("a causal head has rows of all lengths in one prompt; threads change no digit", "[calibration]") {
  const Head head = normal_head(128, 128, 1.5, 5);
  MeasurementOptions options{.causal = true, .threads = 1};
  const auto one = forecast_heads(arrays_of({head}), options, 1024).front();
  CHECK(one.longer > 64);
  CHECK(one.longer < 128);
  CHECK(one.longer / one.shorter == Approx(2).epsilon(0.03));
  const Head long_head = normal_head(64, 1024, 1.5, 6);
  CHECK(literal_entropy({long_head}, 1) == Approx(one.entropy.value).margin(one.entropy.high - one.entropy.value));
  std::vector<double> scores = head.scores;
  const Head wider = normal_head(128, 128, 2.5, 7);
  scores.insert(scores.end(), wider.scores.begin(), wider.scores.end());
  const auto both = dense_scores(scores.data(), NumberType::float64, std::vector<std::int64_t>{1, 2, 128, 128});
  options.threads = 2;
  const auto heads = forecast_heads(std::span(&both, 1), options, 1024);
  CHECK(heads[0].entropy.value == one.entropy.value);
  CHECK(heads[0].inverse_temperature.low == one.inverse_temperature.low);
  CHECK(heads[1].head == 1);
  CHECK(heads[1].entropy.value < one.entropy.value - 0.5);
}

TEST_CASE("a head that looks at one key is covered", "[calibration]") {
  const HeadForecast frozen = forecast_of({32, 64, 512}, [](std::int64_t) { return 300.0; });
  CHECK(frozen.keys_for_95.measured < 1.2);
  CHECK(frozen.keys_for_95.covered);
  CHECK(frozen.entropy.covered);
}

TEST_CASE("intervals from other texts of each length cover a drift that goes on", "[calibration]") {
  constexpr int trials = 60;
  const auto covered_at = [](double wider) {  // at 512 keys than at 64
    std::mt19937_64 generator(11);
    std::lognormal_distribution<double> spread(0, 0.2);  // the widths of prompts
    int covered = 0;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<Head> prompts;
      for (const std::int64_t length : {32, 64}) {
        for (int p = 0; p < 8; ++p) {
          const double width = 2 * spread(generator) * (1 + 0.05 * std::log2(static_cast<double>(length) / 64));
          prompts.push_back(normal_head(16, length, width, generator()));
        }
      }
      for (int p = 0; p < 60; ++p) prompts.push_back(normal_head(4, 512, 2 * wider * spread(generator), generator()));
      covered += forecast_heads(arrays_of(prompts), {}, 512).front().entropy.covered;
    }
    return covered;
  };
  CHECK(covered_at(1.15) >= 52);  // of 95 in 100, fewer in one run of 350
  CHECK(covered_at(2.5) < 30);    // a width that grows much faster is not covered
}

TEST_CASE("a head of entropy 0 is covered, whatever the number of prompts", "[calibration]") {
  for (const int each : {5, 7, 11}) {
    std::vector<Head> prompts;
    for (const std::int64_t n : {32, 64, 512}) {
      for (int p = 0; p < each; ++p) {
        prompts.push_back(incontext::testing::head_of(
            n, n, [&](std::int64_t q, std::int64_t k) { return 1e4 * static_cast<double>((q + k) % n); }));
      }
    }
    const HeadForecast head = forecast_heads(arrays_of(prompts), {}, 512).front();
    CAPTURE(each, head.entropy.measured, head.inverse_temperature.measured);
    CHECK(head.entropy.measured == 0);
    CHECK(head.entropy.covered);
    CHECK(head.inverse_temperature.measured == 0);
  }
}

TEST_CASE("rows of all lengths, of a causal head, keep the share of keys that rows of one length keep",
          "[calibration]") {
  for (const double x : {1e-12, 0.1, 0.6, 2.0}) {
    std::vector<Head> prompts = prompts_of({64}, 20, [&](std::int64_t) { return x; });
    const std::vector<Head> longer = prompts_of({128}, 8, [&](std::int64_t) { return x; });
    prompts.insert(prompts.end(), longer.begin(), longer.end());
    const HeadForecast head = forecast_heads(arrays_of(prompts), {.causal = true}, 128, 64).front();
    const double expected = static_cast<double>(literal_keys(longer, 0.95)) / 128 * head.row_length;
    CAPTURE(x, head.row_length, head.keys_for_95.value, head.keys_for_95.measured, expected);
    CHECK(head.row_length < 121);
    if (x < 1) CHECK(head.keys_for_95.measured == Approx(expected).epsilon(0.02));  // wider: the share falls with n
    CHECK(head.keys_for_95.covered);
  }
}

TEST_CASE("one key that has all of the weight is one key in rows of all lengths", "[calibration]") {
  std::vector<Head> prompts;
  for (const std::int64_t n : {64, 512}) {
    for (int p = 0; p < (n == 64 ? 20 : 4); ++p) {
      prompts.push_back(incontext::testing::head_of(
          n, n, [&](std::int64_t, std::int64_t k) { return (k == 0 ? 50.0 : 0.0) + 1e-3 * static_cast<double>(p); }));
    }
  }
  const HeadForecast head = forecast_heads(arrays_of(prompts), {.causal = true}, 512, 64).front();
  CAPTURE(head.keys_for_95.value, head.keys_for_95.low, head.keys_for_95.high);
  CHECK(head.keys_for_95.measured == Approx(1).margin(0.06));
  CHECK(head.keys_for_95.covered);
}

TEST_CASE("equal scores have equal weights at every length and temperature", "[calibration]") {
  const auto flat = forecast_of({32, 64, 512}, [](std::int64_t) { return 1e-12; });
  CHECK(flat.entropy.value == Approx(std::log(512)));
  CHECK(flat.keys_for_95.measured == Approx(0.95 * 512));
  CHECK(std::isinf(flat.inverse_temperature.measured));
}
