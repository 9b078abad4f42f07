#include "incontext/scoring/hybrid_heads.hpp"

#include <type_traits>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("every head of a hybrid layer scores its own row with its own map", "[scoring]") {
  Random random(91);
  const auto z = random.normals(20), u = random.normals(20);
  const Softmax<double> softmax{2};
  const RatioScore<Average> average;
  const RatioScore<Square> square{ScoreNormalization::sum};
  const auto heads = hybrid_heads(softmax, average, square, softmax);
  STATIC_REQUIRE(decltype(heads)::count == 4);
  STATIC_REQUIRE(std::is_trivially_copyable_v<std::remove_const_t<decltype(heads)>>);
  const auto row = [](const std::vector<double>& all, long h) {
    return std::vector<double>(all.begin() + 5 * h, all.begin() + 5 * h + 5);
  };
  const MatrixView<const double> scores(z.data(), 4, 5), directions(u.data(), 4, 5);
  std::vector<double> out(20);
  const MatrixView<double> result(out.data(), 4, 5);

  weights(heads, scores, result);
  CHECK(row(out, 0) == weights_of(softmax, row(z, 0)));
  CHECK(row(out, 1) == weights_of(average, row(z, 1)));
  CHECK(row(out, 2) == weights_of(square, row(z, 2)));
  CHECK(row(out, 3) == weights_of(softmax, row(z, 3)));
  CHECK(row(out, 3) != weights_of(average, row(z, 3)));
  jvp(heads, scores, directions, result);
  CHECK(row(out, 2) == jvp_of(square, row(z, 2), row(u, 2)));
  CHECK(row(out, 1) == std::vector<double>(5, 0.0));
  vjp(heads, scores, directions, result);
  CHECK(row(out, 2) == vjp_of(square, row(z, 2), row(u, 2)));
  CHECK(row(out, 3) == vjp_of(softmax, row(z, 3), row(u, 3)));
}

TEST_CASE("one head alone is a list too, and heads share their scalar", "[scoring]") {
  const auto one = hybrid_heads(Hardmax<float>{});
  std::vector<float> row{1, 2, 0};
  weights(one, MatrixView<const float>(row.data(), 1, 3), MatrixView<float>(row.data(), 1, 3));
  CHECK(row == std::vector<float>{0, 1, 0});
  STATIC_REQUIRE(std::is_invocable_v<decltype([](auto... maps) -> decltype(hybrid_heads(maps...)) {
                                       return hybrid_heads(maps...);
                                     }),
                                     Softmax<double>, SSA<double>>);
  STATIC_REQUIRE_FALSE(std::is_invocable_v<decltype([](auto... maps) -> decltype(hybrid_heads(maps...)) {
                                             return hybrid_heads(maps...);
                                           }),
                                           Softmax<double>, SSA<float>>);
}

}  // namespace incontext::testing
