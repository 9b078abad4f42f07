#include "incontext/scoring/ratio_score.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;
using enum ScoreNormalisation;

TEST_CASE("a ratio score is its function over nothing, the length, the sum or the absolute sum", "[scoring]") {
  const std::vector<double> z{0.5, -infinity, -2, 3};
  const auto expected = [&](auto f, double normaliser) {
    return std::vector<double>{f(0.5) / normaliser, 0, f(-2.0) / normaliser, f(3.0) / normaliser};
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

TEST_CASE("where the normaliser vanishes the whole row is NaN", "[scoring]") {
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

TEST_CASE("the weights of an average do not depend on the scores", "[scoring]") {
  const std::vector<double> z{1, -5, 1e300}, u{1, 2, 3};
  CHECK(jvp_of(RatioScore<Average>{sum}, z, u) == std::vector<double>{0, 0, 0});
  CHECK(vjp_of(RatioScore<Average>{none}, z, u) == std::vector<double>{0, 0, 0});
}

}  // namespace incontext::testing
