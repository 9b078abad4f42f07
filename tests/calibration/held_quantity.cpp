#include "incontext/calibration/held_quantity.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "incontext/laws/poisson_dirichlet.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using incontext::testing::refuses;
using incontext::testing::relative;

namespace {

/// Mean and standard error of entropy, largest weight or needle weight over drawn rows, by their definitions.
std::pair<double, double> drawn(Held held, const HeadScores<double>& scores, int n, double beta, int rows) {
  std::mt19937_64 generator(17);
  std::normal_distribution<double> normal(0, scores.score_stddev);
  double sum = 0, squares = 0;
  std::vector<double> w(static_cast<std::size_t>(n));
  for (int r = 0; r < rows; ++r) {
    double total = 0, value = 0;
    for (double& weight : w) total += weight = std::exp(beta * normal(generator));
    if (held == Held::needle_weight) {
      total += std::exp(beta * scores.gap) - w[0];
      value = std::exp(beta * scores.gap) / total;
    } else if (held == Held::largest_weight) {
      value = *std::max_element(w.begin(), w.end()) / total;
    } else {
      for (const double weight : w) value -= weight / total * std::log(weight / total);
    }
    sum += value / rows;
    squares += value * value / rows;
  }
  return {sum, std::sqrt((squares - sum * sum) / rows)};
}

}  // namespace

TEST_CASE("the solved inverse temperature holds each quantity in drawn rows, and a tenth less does not",
          "[calibration]") {
  const HeadScores<double> scores{.score_stddev = 1.5, .gap = 6.5};
  const int trained = 32, n = 512;
  for (const Held held : {Held::entropy, Held::largest_weight, Held::needle_weight}) {
    const double target = held_value<double>(held, scores, trained, 1.0);
    const auto solved = holding_temperature<double>(held, scores, n, target);
    REQUIRE(solved.attained);
    CHECK(solved.inverse_temperature > 1);
    CHECK(std::abs(solved.value - target) < 1e-9);
    const auto [mean, error] = drawn(held, scores, n, solved.inverse_temperature, 6000);
    CAPTURE(static_cast<int>(held), target, mean, error, solved.inverse_temperature);
    CHECK(std::abs(mean - target) < 4.5 * error);
    const auto [twin, twin_error] = drawn(held, scores, n, 0.9 * solved.inverse_temperature, 6000);
    CHECK(std::abs(twin - target) > 8 * twin_error);
    if (held != Held::entropy) continue;
    const auto [by_log, log_error] = drawn(held, scores, n, std::log(512.0) / std::log(32.0), 6000);
    CHECK(std::abs(by_log - target) > 8 * log_error);
  }
}

TEST_CASE("at the trained length nothing changes, and the scores' unit does not matter", "[calibration]") {
  for (const Held held : {Held::entropy, Held::largest_weight, Held::needle_weight}) {
    for (const double stddev : {0.3, 2.0, 5.0}) {
      const HeadScores<double> scores{stddev, 3 * stddev + 1}, doubled{2 * stddev, 6 * stddev + 2};
      const double target = held_value<double>(held, scores, 128, 1.0);
      CAPTURE(static_cast<int>(held), stddev);
      const auto same = holding_temperature<double>(held, scores, 128, target);
      CHECK(std::abs(same.value - target) < 1e-9 * target);
      if (held != Held::needle_weight || stddev < 2) CHECK(relative(same.inverse_temperature, 1) < 1e-8);
      const auto longer = holding_temperature<double>(held, scores, 1024, target);
      const auto halved = holding_temperature<double>(held, doubled, 1024, target);
      CHECK(relative(halved.value, longer.value) < 1e-6);
      // without a solution the maximum is flat, and only its value is determined
      if (longer.attained) CHECK(relative(halved.inverse_temperature, longer.inverse_temperature / 2) < 1e-6);
    }
  }
}

TEST_CASE("a needle that competitors beat is held as well as it can be", "[calibration]") {
  const HeadScores<double> scores{.score_stddev = 1.5, .gap = 5};
  const double target = held_value<double>(Held::needle_weight, scores, 64, 1.0);
  const auto best = holding_temperature<double>(Held::needle_weight, scores, 200000, target);
  CHECK_FALSE(best.attained);
  CHECK(best.value < target);
  for (const double factor : {0.7, 0.9, 1.1, 1.5}) {
    CHECK(held_value<double>(Held::needle_weight, scores, 200000, factor * best.inverse_temperature) <= best.value);
  }
}

TEST_CASE("of two inverse temperatures that hold a needle the lower one is found", "[calibration]") {
  // at 1 the weight already falls again, because a few of the competitors win
  const HeadScores<double> scores{.score_stddev = 1, .gap = 0.5};
  const double target = held_value<double>(Held::needle_weight, scores, 128, 1.0);
  REQUIRE(held_value<double>(Held::needle_weight, scores, 128, 0.9) > target);
  const auto lower = holding_temperature<double>(Held::needle_weight, scores, 128, target);
  CHECK(lower.attained);
  CHECK(lower.inverse_temperature < 0.9);
  CHECK(relative(lower.value, target) < 1e-9);
}

TEST_CASE("in very long rows the held entropy freezes the row at the ratio of the Poisson-Dirichlet law",
          "[calibration]") {
  // E H = psi(1) - psi(1 - m), m = x_c / x: the inverse temperature grows like sqrt(log n), and not like log n
  const double index = 0.6, target = incontext::laws::poisson_dirichlet_entropy(index);
  double off = 1;
  for (const double n : {1e3, 1e9, 1e27}) {
    const auto held = holding_temperature<double>(Held::entropy, {.score_stddev = 1}, n, target);
    const double now = std::abs(held.inverse_temperature / (std::sqrt(2 * std::log(n)) / index) - 1);
    CAPTURE(n, now);
    CHECK(now < off);
    off = now;
  }
  CHECK(off < 0.15);
}

TEST_CASE("targets that no inverse temperature attains are refused", "[calibration]") {
  const HeadScores<double> scores{.score_stddev = 1};
  CHECK(refuses([&] { holding_temperature<double>(Held::entropy, scores, 8, 2.5); }, {"target", "2.5", "log n"}));
  CHECK(refuses([&] { holding_temperature<double>(Held::largest_weight, scores, 8, 0.1); }, {"target", "1/n"}));
  CHECK(refuses([&] { holding_temperature<double>(Held::entropy, {.score_stddev = 0}, 8, 1.0); }, {"score_stddev"}));
}
