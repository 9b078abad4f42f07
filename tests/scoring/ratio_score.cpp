#include "incontext/scoring/ratio_score.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;
using enum ScoreNormalization;

TEST_CASE("a ratio score is its function over nothing, the length, the sum or the absolute sum", "[scoring]") {
  const std::vector<double> z{0.5, -infinity, -2, 3};
  const auto expected = [&](auto f, double normalizer) {
    return std::vector<double>{f(0.5) / normalizer, 0, f(-2.0) / normalizer, f(3.0) / normalizer};
  };
  const auto square = [](double x) { return x * x; };
  const auto tanh = [](double x) { return std::tanh(x); };
  CHECK(distance(weights_of(RatioScore<Square>{none}, z), expected(square, 1)) < 1e-15);
  CHECK(distance(weights_of(RatioScore<Square>{context_length}, z), expected(square, 3)) < 1e-15);
  CHECK(distance(weights_of(RatioScore<Square>{sum}, z), expected(square, 13.25)) < 1e-15);
  const double plain = tanh(0.5) + tanh(-2) + tanh(3), absolute = tanh(0.5) + tanh(2) + tanh(3);
  CHECK(distance(weights_of(RatioScore<Tanh>{sum}, z), expected(tanh, plain)) < 1e-14);
  CHECK(distance(weights_of(RatioScore<Tanh>{absolute_sum}, z), expected(tanh, absolute)) < 1e-15);
  CHECK(weights_of(RatioScore<Average>{}, z) == std::vector<double>{1.0 / 3, 0, 1.0 / 3, 1.0 / 3});
  CHECK(weights_of(RatioScore<Relu>{sum}, z) == std::vector<double>{0.5 / 3.5, 0, 0, 3 / 3.5});
}

TEST_CASE("where the normalizer vanishes the whole row is NaN", "[scoring]") {
  CHECK(all_nan(weights_of(RatioScore<Relu>{sum}, {-1, -2})));
  CHECK(all_nan(jvp_of(RatioScore<Relu>{absolute_sum}, {-1, 0}, {1, 1})));
  CHECK(all_nan(vjp_of(RatioScore<Tanh>{sum}, {1, -1}, {1, 1})));
  CHECK(all_nan(weights_of(RatioScore<Square>{sum}, {0, 0})));
  CHECK(weights_of(RatioScore<Relu>{context_length}, {-1, -2}) == std::vector<double>{0, 0});
}

TEST_CASE("tanh's slope keeps its digits where tanh has reached one", "[scoring]") {
  CHECK(std::tanh(20.0) == 1);
  const double slope = jvp_of(RatioScore<Tanh>{none}, {20}, {1})[0];
  CHECK(std::abs(slope - 4 * std::exp(-40.0)) < 1e-14 * slope);
  CHECK(jvp_of(RatioScore<Tanh>{none}, {0}, {1})[0] == 1);
}

TEST_CASE("at its kink at 0 relu's slope is 0, in the weights' derivatives too", "[scoring]") {
  CHECK(Relu::slope(0.0) == 0);
  CHECK(Relu::slope(-0.0) == 0);
  CHECK(Relu::slope(5e-324) == 1);
  CHECK(Relu::slope(-5e-324) == 0);
  CHECK(jvp_of(RatioScore<Relu>{none}, {0, 1}, {3, 5}) == std::vector<double>{0, 5});
  CHECK(vjp_of(RatioScore<Relu>{sum}, {0, 1}, {3, 5})[0] == 0);
}

TEST_CASE("the largest weight keeps the digits of its change where it has reached one", "[scoring]") {
  // a = z^2 / (z^2 + w^2): d a / d z = 2 z w^2 / (z^2 + w^2)^2 and d a / d w = -2 z^2 w / (z^2 + w^2)^2
  const double z = 0x1p27, w = 1, sum_of_squares = z * z + w * w;
  const double by_z = 2 * z * w * w / sum_of_squares / sum_of_squares;
  const double by_w = -2 * z * z * w / sum_of_squares / sum_of_squares;
  for (const auto normalization : {sum, absolute_sum}) {
    const RatioScore<Square> map{normalization};
    CHECK(weights_of(map, {z, w})[0] == 1);
    for (const auto& [u, v] : {std::pair{1.0, 0.0}, std::pair{0.0, 1.0}, std::pair{-3.0, 0.5}}) {
      const auto change = jvp_of(map, {z, w}, {u, v});
      const double expected = by_z * u + by_w * v;
      CHECK(std::abs(change[0] - expected) <= 4e-15 * std::abs(expected));
      CHECK(std::abs(change[1] + expected) <= 4e-15 * std::abs(expected));
      const auto pull = vjp_of(map, {z, w}, {u, v});
      CHECK(std::abs(pull[0] - by_z * (u - v)) <= 4e-15 * std::abs(by_z * (u - v)));
      CHECK(std::abs(pull[1] - by_w * (u - v)) <= 4e-15 * std::abs(by_w * (u - v)));
    }
  }
}

TEST_CASE("the weights of an average do not depend on the scores", "[scoring]") {
  const std::vector<double> z{1, -5, 1e300}, u{1, 2, 3};
  CHECK(jvp_of(RatioScore<Average>{sum}, z, u) == std::vector<double>{0, 0, 0});
  CHECK(vjp_of(RatioScore<Average>{none}, z, u) == std::vector<double>{0, 0, 0});
}

}  // namespace incontext::testing
