#include "incontext/scoring/approximate_softmax.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/linear_attention.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("the approximate softmax is the tangent of softmax at equal scores", "[scoring]") {
  const std::vector<double> u{1, -2, 0.5, 3};
  double last = 1;
  for (const double size : {1e-1, 1e-2, 1e-3}) {
    std::vector<double> z;
    for (const double x : u) z.push_back(7 + size * x);
    const double gap = distance(weights_of(ApproximateSoftmax<double>{2}, z), weights_of(Softmax<double>{2}, z));
    CHECK(gap < size * size);
    CHECK(gap < last / 50);  // second order
    last = gap;
  }
  CHECK(jvp_of(ApproximateSoftmax<double>{2}, u, u) == jvp_of(ApproximateSoftmax<double>{2}, {0, 0, 0, 0}, u));
  CHECK(distance(jvp_of(ApproximateSoftmax<double>{2}, u, u), jvp_of(Softmax<double>{2}, {5, 5, 5, 5}, u)) < 1e-16);
}

TEST_CASE("a weight is negative exactly where the score is more than tau below the mean", "[scoring]") {
  Random random(111);
  const auto z = random.normals(200);
  const double mean = total(z) / 200;
  const auto a = weights_of(ApproximateSoftmax<double>{0.8}, z);
  int negative = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    CHECK((a[i] < 0) == (z[i] - mean < -0.8));
    negative += a[i] < 0;
  }
  CHECK(negative > 20);
  CHECK(negative < 80);
}

TEST_CASE("a large offset of the scores costs the approximate softmax no digits", "[scoring]") {
  const std::vector<double> z{1e9 + 0.5, 1e9, 1e9 - 1.25};
  CHECK(distance(weights_of(ApproximateSoftmax<double>{2}, z),
                 weights_of(ApproximateSoftmax<double>{2}, {0.5, 0, -1.25})) < 1e-16);
}

TEST_CASE("linear attention divides its scores by tau and by nothing or the visible length", "[scoring]") {
  const std::vector<double> z{1, -infinity, -3, 2};
  CHECK(distance(weights_of(LinearAttention<double>{0.5}, z), {2.0 / 3, 0, -2, 4.0 / 3}) < 1e-15);
  CHECK(weights_of(LinearAttention<double>{0.5, LinearNormalization::none}, z) == std::vector<double>{2, 0, -6, 4});
  CHECK(weights_of(LinearAttention<double>{infinity}, {1, 2}) == std::vector<double>{0, 0});
}

TEST_CASE("the simulators' aggregates deduce their scalar", "[scoring]") {
  STATIC_REQUIRE(std::is_same_v<decltype(ApproximateSoftmax{0.5f}), ApproximateSoftmax<float>>);
  STATIC_REQUIRE(std::is_same_v<decltype(LinearAttention{0.5, LinearNormalization::none}), LinearAttention<double>>);
  STATIC_REQUIRE(std::is_same_v<decltype(Softmax{}), Softmax<double>>);
  CHECK(ApproximateSoftmax<>{}.temperature == 1);
  CHECK(LinearAttention<>{}.normalization == LinearNormalization::context_length);
}

}  // namespace incontext::testing
