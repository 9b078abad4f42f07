#include "incontext/laws/fading_thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "incontext/laws/fading.hpp"
#include "incontext/scoring/entmax.hpp"
#include "laws/refusal.hpp"
#include "scoring/maps.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("counts and gaps of a two-level row invert its weight", "[laws]") {
  for (const double weight : {0.01, 0.5, 0.9, 0.99}) {
    for (const double gap : {0.1, 1.0, 5.0, 30.0}) {
      const double count = two_level_count(gap, weight);
      CHECK(std::abs(two_level_weights(count, gap).high / weight - 1) < 1e-13);
      CHECK(std::abs(two_level_exponent_gap(count, weight) - gap) < 1e-13 * (1 + gap));
    }
    for (const double count : {1.25, 2.0, 40.0, 1e6, 1e15}) {
      const double gap = two_level_exponent_gap(count, weight);
      CHECK(std::abs(two_level_weights(count, gap).high / weight - 1) < 1e-12);
    }
  }
  CHECK(std::abs(two_level_exponent_gap(40.0, 0.99) - std::log(99 * 39.0)) < 1e-13);
}

TEMPLATE_TEST_CASE("thresholds of fading keep their digits", "[laws]", float, double) {
  using T = TestType;
  using L = long double;
  Worst worst;
  for (const double x : {-20.0, -0.3, 0.001, 1.0, 7.7, 60.0}) {
    for (const double w : {0.001, 0.5, 0.75, 0.999}) {
      const L exact = two_level_count(L(T(x)), L(T(w)));
      worst.add(eps_from(two_level_count(T(x), T(w)), exact, exact * (1 + std::abs(x))) / 4, "x ", x, ", w ", w);
      const T n = T(1 + std::exp(x));
      if (!(T(1) < n)) continue;
      const L gap = two_level_exponent_gap(L(n), L(T(w)));
      const L scale = 1 + std::log(L(n)) + std::abs(std::log(L(T(w)) / (1 - L(T(w)))));
      worst.add(eps_from(two_level_exponent_gap(n, T(w)), gap, scale) / 4, "x ", x, ", w ", w);
    }
  }
  for (const double s : {0.03, 0.43, 1.0, 2.5, 1e3}) {
    for (const double b : {-2.0, 0.0, 0.9}) {
      const L exact = ssmax_crossover_count(L(T(s)), L(T(b)));
      if (exact > L(std::numeric_limits<T>::max())) continue;
      const L scale = exact * (1 + std::abs(1 - b) / s);
      worst.add(eps_from(ssmax_crossover_count(T(s), T(b)), exact, scale) / 4, "s ", s, ", b ", b);
    }
    worst.add(eps_from(ssmax_critical_gap(T(s)), 1 / L(T(s)), 1 / L(T(s))), "s ", s);
    const L alpha = 1 + L(T(s)), gap = 1 / (L(T(1 + s)) - 1);
    worst.add(eps_from(entmax_one_hot_gap(T(1 + s)), gap, gap * alpha / (alpha - 1)) / 2, "s ", s);
    const L g = L(T(3 / s)), weakest = ssmax_weakest_count(L(T(s)), g);
    worst.add(eps_from(ssmax_weakest_count(T(s), T(g)), weakest, weakest * 1.5L) / 4, "s ", s);
  }
  CHECK(worst <= 1);
}

TEST_CASE("SSMax crosses softmax at the stated row length", "[laws]") {
  for (const double s : {0.2, 0.43, 1.0}) {
    for (const double b : {-0.5, 0.0, 0.25}) {
      const double count = ssmax_crossover_count(s, b);
      const auto excess = [&](double n) {
        return two_level_weights(n, (s * std::log(n) + b) * 3).high - two_level_weights(n, 3.0).high;
      };
      CHECK(excess(1.01 * count) > 0);
      CHECK(excess(0.99 * count) < 0);
    }
  }
}

TEST_CASE("SSMax loses or keeps a two-level row on either side of the gap 1/s", "[laws]") {
  // the distance to the limit at n scores is n^-|s g - 1| up to a factor of 2
  for (const double s : {0.43, 1.0, 2.0}) {
    for (const double g : {0.2, 0.9, 1.1, 3.0}) {
      const double gap = g * ssmax_critical_gap(s), n = 1e15;
      const double weight = two_level_weights(n, s * std::log(n) * gap).high;
      const double limit = ssmax_two_level_limit(s, gap);
      CHECK(limit == (g > 1 ? 1 : 0));
      CHECK(std::abs(weight - limit) <= std::pow(n, -std::abs(g - 1)));
      CHECK_FALSE(std::abs(weight - (1 - limit)) <= 0.5);
    }
  }
  CHECK(ssmax_two_level_limit(0.5, 2.0) == 0.5);
  CHECK(std::abs(two_level_weights(1e15, std::log(1e15)).high - 0.5) < 1e-13);
}

TEST_CASE("SSMax is weakest on a two-level row at the stated length", "[laws]") {
  for (const double s : {0.43, 1.0, 2.0}) {
    for (const double g : {1.05, 1.5, 2.15, 6.0}) {
      const double count = ssmax_weakest_count(s, g / s);
      const auto weight = [&](double n) { return two_level_weights(n, std::log(n) * g).complement; };
      for (const double factor : {0.9, 0.99, 1.01, 1.1}) {
        const double n = 1 + (count - 1) * factor;
        CHECK(weight(n) < weight(count));
      }
    }
  }
  // among whole numbers and at the figure's gap, the least weight is at two scores
  CHECK(ssmax_weakest_count(0.43, 5.0) < 2);
}

TEST_CASE("SSMax focuses if no level of competitors outgrows it", "[laws]") {
  using Levels = std::vector<CompetitorLevel<double>>;
  for (const Levels& levels : {Levels{{1, 1}}, Levels{{0.5, 0.1}, {3, 1}}, Levels{{0.2, 0.5}, {1, 0.9}, {2, 1}}}) {
    for (const double s : {0.2, 0.6, 1.3, 4.0}) {
      const double power = ssmax_focus_power<double>(levels, s), log_count = 150;
      double odds = 0;
      for (const auto& level : levels) odds += std::exp(log_count * (level.exponent - s * level.gap));
      CHECK(std::abs(std::log(odds) / log_count - power) < 1e-2);
      CHECK_FALSE(std::abs(std::log(odds) / log_count - power - 0.1) < 1e-2);
    }
  }
  const Levels one{{1 / 0.43, 1}};
  CHECK(std::abs(ssmax_focus_power<double>(one, 0.43)) < 1e-15);
  CHECK_THROWS_AS(ssmax_focus_power<double>({}, 1.0), std::invalid_argument);
  CHECK(refuses([&] { ssmax_focus_power<double>(one, -1.0); }, {"scale", "-1"}));
  const Levels below{{-2, 1}};
  CHECK(refuses([&] { ssmax_focus_power<double>(below, 1.0); }, {"gap", "-2"}));
}

TEST_CASE("entmax is one-hot from the stated gap on", "[laws]") {
  for (const double alpha : {1.25, 1.5, 2.0, 3.0}) {
    const double gap = entmax_one_hot_gap(alpha);
    std::vector<double> z(50, 0.0);
    z[7] = gap * (1 + 1e-12);
    CHECK(weights_of(scoring::Entmax<double>{alpha}, z)[7] == 1);
    z[7] = gap * (1 - 1e-3);
    CHECK(weights_of(scoring::Entmax<double>{alpha}, z)[7] < 1);
  }
}

TEST_CASE("thresholds of fading refuse what has none", "[laws]") {
  CHECK(refuses([] { two_level_count(1.0, 0.0); }, {"weight", "value = 0"}));
  CHECK(refuses([] { two_level_count(1.0, 1.0); }, {"weight"}));
  CHECK(refuses([] { two_level_exponent_gap(1.0, 0.5); }, {"row_length", "value = 1"}));
  CHECK(refuses([] { two_level_exponent_gap(3.0, -0.5); }, {"weight", "-0.5"}));
  CHECK(refuses([] { ssmax_crossover_count(0.0); }, {"scale", "value = 0"}));
  CHECK(refuses([] { ssmax_critical_gap(-1.0); }, {"scale", "-1"}));
  CHECK(refuses([] { ssmax_two_level_limit(-1.0, 2.0); }, {"scale"}));
  CHECK(refuses([] { ssmax_weakest_count(0.5, 2.0); }, {"scale times gap", "value = 1"}));
  CHECK(refuses([] { ssmax_bounded_threshold(1.0, 0.5, BoundedScores<double>{1}); }, {"row_length"}));
  CHECK(refuses([] { ssmax_bounded_threshold(9.0, 0.5, BoundedScores<double>{1, -1}); }, {"edge_exponent"}));
  CHECK(refuses([] { entmax_one_hot_gap(1.0); }, {"alpha", "value = 1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { two_level_count(x); }, {"exponent_gap"}));
    CHECK(refuses([x] { two_level_exponent_gap(x); }, {"row_length"}));
    CHECK(refuses([x] { ssmax_crossover_count(1.0, x); }, {"bias"}));
    CHECK(refuses([x] { ssmax_critical_gap(x); }, {"scale"}));
    CHECK(refuses([x] { ssmax_two_level_limit(1.0, x); }, {"gap"}));
    CHECK(refuses([x] { ssmax_weakest_count(1.0, x); }, {"gap"}));
    CHECK(refuses([x] { ssmax_bounded_threshold(9.0, 1.0, BoundedScores<double>{x}); }, {"upper_edge"}));
    CHECK(refuses([x] { entmax_one_hot_gap(x); }, {"alpha"}));
  }
}

}  // namespace incontext::testing
