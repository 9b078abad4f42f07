#include "incontext/scoring/hessian_product.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

using Numbers = std::vector<double>;

template <class Map>
Numbers hessian_product_of(const Map& map, const Numbers& z, const Numbers& g, const Numbers& u) {
  Numbers out(z.size());
  hessian_product(map, view(z), view(g), view(u), Row<double>(out));
  return out;
}

/// The same by g . D^2 a[u, e_j] for every unit vector e_j.
template <class Map>
Numbers by_second_derivatives(const Map& map, const Numbers& z, const Numbers& g, const Numbers& u) {
  Numbers result, second(z.size());
  for (std::size_t j = 0; j < z.size(); ++j) {
    Numbers unit(z.size(), 0.0);
    unit[j] = 1;
    second_derivative(map, view(z), view(u), view(unit), Row<double>(second));
    result.push_back(product(g, second));
  }
  return result;
}

}  // namespace

TEST_CASE("softmax of two scores has the Hessian of the logistic function", "[scoring]") {
  // a_1 = s(z_1 - z_2), so d^2 a_1 / d z_1^2 = s (1 - s) (1 - 2 s), and the sign changes with each z_2
  const double s = 1 / (1 + std::exp(-0.75)), second = s * (1 - s) * (1 - 2 * s);
  const Numbers by_first = hessian_product_of(Softmax<double>{}, {1, 0.25}, {1, 0}, {1, 0});
  CHECK(std::abs(by_first[0] - second) < 1e-16);
  CHECK(std::abs(by_first[1] + second) < 1e-16);
}

TEST_CASE("the Hessian of g . a times a direction is what second derivatives along unit vectors give", "[scoring]") {
  Random random(31);
  const Numbers z = random.normals(9, 1.5), g = random.normals(9), u = random.normals(9), v = random.normals(9);
  for_each_softmax_like<double>([&](const auto& map, const Facts& facts) {
    INFO(facts.name);
    const Numbers found = hessian_product_of(map, z, g, u), expected = by_second_derivatives(map, z, g, u);
    const double scale = largest_size(expected);
    REQUIRE(scale > 0);
    CHECK(distance(found, expected) <= 1e-12 * scale);
    CHECK(std::abs(product(v, found) - product(u, hessian_product_of(map, z, g, v))) <= 1e-12 * scale * 9);
    // the wrong twin forgets that the mean of the cotangents moves too
    Numbers twin = found;
    const Numbers a = weights_of(map, z), change = jvp_of(map, z, u);
    for (std::size_t i = 0; i < z.size(); ++i) {
      twin[i] += map.elementwise(9).slope(z[i]) * a[i] * product(g, change);
    }
    CHECK(distance(twin, expected) > 1e-3 * scale);
  });
}

TEST_CASE("a masked score has no part in the Hessian, and a row that is undefined gives NaN", "[scoring]") {
  const SSA<double> map{0.5, 2.0, 4.0};
  const Numbers short_row = hessian_product_of(map, {0.5, -1, 2}, {1, 2, -1}, {0.25, 1, 3});
  const Numbers masked = hessian_product_of(map, {0.5, -infinity, -1, 2}, {1, 1e9, 2, -1}, {0.25, 1e9, 1, 3});
  CHECK(masked == Numbers{short_row[0], 0, short_row[1], short_row[2]});
  CHECK(all_nan(hessian_product_of(map, {0.5, infinity}, {1, 2}, {1, 1})));
  CHECK(all_nan(hessian_product_of(Softmax<double>{-1}, {0.5, 1}, {1, 2}, {1, 1})));
  CHECK(hessian_product_of(map, {0.5}, {3}, {7}) == Numbers{0});
  Numbers in_place{0.25, 1, 3};
  hessian_product(map, view(Numbers{0.5, -1, 2}), view(Numbers{1, 2, -1}), view(in_place), Row<double>(in_place));
  CHECK(in_place == short_row);
}

TEST_CASE("an offset common to all cotangents costs the Hessian no digits", "[scoring]") {
  const Numbers z{0.5, -1, 2, 0}, u{1, 0.5, -2, 0.25};
  const Numbers far = hessian_product_of(Softmax<double>{}, z, {1e9 + 1, 1e9, 1e9 - 2, 1e9 + 0.5}, u);
  CHECK(distance(far, hessian_product_of(Softmax<double>{}, z, {1, 0, -2, 0.5}, u)) < 1e-15);
}

}  // namespace incontext::testing
