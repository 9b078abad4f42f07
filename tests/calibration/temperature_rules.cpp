#include "incontext/calibration/temperature_rules.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using incontext::testing::refuses;
using incontext::testing::relative;

TEST_CASE("rules for longer rows: each has its formula, and the exact one holds", "[calibration]") {
  const std::vector<std::int64_t> lengths{256, 512, 2048, 32768};
  const HeadScores<double> scores{.score_stddev = 0.8, .gap = 5};
  const auto rules = temperature_rules(Held::needle_weight, scores, lengths);
  REQUIRE(rules.size() == 9);
  const double target = rules[0].value[0];
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    CHECK(rules[0].attained[i]);
    CHECK(relative(rules[0].value[i], target) < 1e-8);
    CHECK(rules[1].inverse_temperature[i] == 1);
    CHECK(relative(rules[2].inverse_temperature[i], std::log(lengths[i]) / std::log(256)) < 1e-5);
  }
  CHECK(relative(rules[4].inverse_temperature[3], std::pow(0.1 * std::log(128.0) + 1, 2)) < 1e-5);  // YaRN
  CHECK(relative(rules[5].inverse_temperature[3], 1.25) < 1e-5);                                    // NormSoftmax
  CHECK(rules[0].reason.empty());
  CHECK(rules[8].name.substr(0, 3) == "SSA");
  CHECK(rules[8].reason.find("no inverse temperature") != std::string::npos);
  CHECK(relative(rules[8].value[0], target) < 1e-8);
  // no map whose weights depend on single scores keeps a needle: its odds fall like 1/n
  const double odds = rules[8].value[3] / (1 - rules[8].value[3]) * (1 - target) / target;
  CHECK(odds * 128 > 0.5);
  CHECK(odds * 128 < 1.5);
}

TEST_CASE("the nearest SSMax is the least-squares line", "[calibration]") {
  const std::vector<std::int64_t> lengths{10, 100, 1000};
  std::vector<double> line, bent{1, 2, 2.5};
  for (const std::int64_t n : lengths) line.push_back(0.4 * std::log(static_cast<double>(n)) - 0.3);
  CHECK(relative(nearest_ssmax(lengths, line).scale, 0.4) < 1e-12);
  CHECK(relative(nearest_ssmax(lengths, line).bias, -0.3) < 1e-12);
  const auto best = nearest_ssmax(lengths, bent);
  const auto squares = [&](double s, double b) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += std::pow(s * std::log(lengths[i]) + b - bent[i], 2);
    return sum;
  };
  for (const double step : {-1e-3, 1e-3}) {
    CHECK(squares(best.scale, best.bias) < squares(best.scale + step, best.bias));
    CHECK(squares(best.scale, best.bias) < squares(best.scale, best.bias + step));
  }
  CHECK(std::isnan(nearest_ssmax({512, 512, 512}, {1, 1.5, 2}).scale));
  CHECK(refuses<std::invalid_argument>([&] { nearest_ssmax(lengths, {1}); }, {"inverse_temperatures"}));
}

TEST_CASE("an SSMax that would be negative is 0, and says so", "[calibration]") {
  const auto rules = temperature_rules(Held::needle_weight, {.score_stddev = 0.01, .gap = 0.04}, {64, 128, 512, 8192});
  CHECK(rules[3].inverse_temperature[0] == 0);
  CHECK(relative(rules[3].value[0], 1.0 / 64) < 1e-12);
  CHECK(rules[3].reason.find("below 0 at 1 of 4 lengths") != std::string::npos);
}

TEST_CASE("where no inverse temperature holds the needle, SSMax is fitted to the lengths where one does",
          "[calibration]") {
  const HeadScores<double> scores{.score_stddev = 1.5, .gap = 6};
  const auto rules = temperature_rules(Held::needle_weight, scores, {512, 1024, 4096, 65536});
  CHECK(rules[0].attained == std::vector<bool>{true, true, true, false});
  CHECK(std::isnan(rules[0].inverse_temperature[3]));
  CHECK(rules[0].reason.find("in rows of 65536 scores or more") != std::string::npos);
  CHECK(rules[1].reason.empty());
  CHECK(rules[3].reason.empty());
  CHECK(rules[3].inverse_temperature[2] < 3);
  CHECK(std::isnan(nearest_ssa(1, {.score_stddev = 4, .gap = 1}, 512, 0.9).exponent));
}

TEST_CASE("a needle that equal weights would favor has no exact rule, with the reason, and every other rule",
          "[calibration]") {
  struct Row {
    double score_stddev, gap;
    std::int64_t trained;
  };
  int without = 0;
  for (const Row& row : {Row{1, 0.5, 128}, {2, 1, 128}, {3, 2, 128}, {5, 4, 128}, {10, 4, 5}, {10, 4, 256}}) {
    CAPTURE(row.score_stddev, row.gap, row.trained);
    const HeadScores<double> scores{row.score_stddev, row.gap};
    const double target = held_value<double>(Held::needle_weight, scores, row.trained, 1.0);
    const auto rules = temperature_rules(Held::needle_weight, scores, {row.trained, 4 * row.trained, 64 * row.trained});
    CHECK(rules.size() >= 7);
    const TemperatureRule& exact = rules.front();
    for (std::size_t i = 0; i < exact.value.size(); ++i) {
      CAPTURE(i, exact.reason);
      if (exact.attained[i]) {
        CHECK(relative(exact.value[i], target) < 1e-6);
      } else {
        CHECK(std::isnan(exact.inverse_temperature[i]));
        CHECK_FALSE(exact.reason.empty());
        ++without;
      }
    }
  }
  CHECK(without >= 4);
  const auto below = temperature_rules(Held::needle_weight, {.score_stddev = 2, .gap = 1}, {128, 512});
  CHECK(below.front().reason.find("is not above 0.00781, which equal weights have in rows of 128") !=
        std::string::npos);
}
