#include "incontext/scoring/ssa_limits.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/hardmax.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

template <class T>
std::vector<T> scale_limit(const SSA<T>& map, const std::vector<T>& z) {
  std::vector<T> out(z.size());
  ssa_scale_limit(map, z, out);
  return out;
}

std::vector<double> correction(double exponent, const std::vector<double>& z) {
  std::vector<double> out(z.size());
  ssa_softmax_correction(exponent, z, out);
  return out;
}

std::vector<double> times(double factor, std::vector<double> z) {
  for (double& x : z) x *= factor;
  return z;
}

}  // namespace

TEST_CASE("SSA at scores scaled further and further approaches its scale limit like 1/c", "[scoring]") {
  Random random(211);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<double> z = random.normals(1 + random.below(12));
    if (trial % 3 == 1) {
      for (double& x : z) x = -std::abs(x);
    }
    if (trial % 3 == 2) z.assign({-1, 0, -2, 0});
    const SSA<double> map{0.7, 1 + random.uniform(), 2};
    const auto limit = scale_limit(map, z);
    const double at_1e9 = distance(weights_of(map, times(1e9, z)), limit);
    CHECK(at_1e9 < 1e-5);
    CHECK(distance(weights_of(map, times(1e13, z)), limit) <= 1e-3 * at_1e9 + 1e-12);
  }
  // the exponent matters
  CHECK(distance(weights_of(SSA<double>{1, 1.5}, {1e12, 2e12}), scale_limit(SSA<double>{1, 1.51}, {1, 2})) > 1e-3);
}

TEST_CASE("the scale limit by hand, its own limits, masks and extremes", "[scoring]") {
  const SSA<double> square{1, 2};
  CHECK(distance(scale_limit(square, {3, -5, 4, 0}), {9.0 / 25, 0, 16.0 / 25, 0}) < 1e-15);
  CHECK(distance(scale_limit(square, {0, -1, 0}), {0.5, 0, 0.5}) < 1e-15);
  CHECK(distance(scale_limit(square, {-1, -2}), {0.8, 0.2}) < 1e-15);
  CHECK(scale_limit(square, {-3}) == std::vector<double>{1});
  CHECK(distance(scale_limit(square, {-infinity, 3, 4}), {0, 9.0 / 25, 16.0 / 25}) < 1e-15);
  CHECK(distance(scale_limit(square, {-infinity, -1, -2}), {0, 0.8, 0.2}) < 1e-15);
  CHECK(distance(scale_limit(square, {1e308, 1e308, 1e-308}), {0.5, 0.5, 0}) < 1e-15);
  const std::vector<double> z{1, 2, 2, -1};
  CHECK(distance(scale_limit(SSA<double>{1, 4000}, z), weights_of(Hardmax<double>{}, z)) < 1e-15);
  CHECK(distance(converted<double>(scale_limit(SSA<float>{1, 2}, {3, 4})), {9.0 / 25, 16.0 / 25}) < 1e-6);
  CHECK(all_nan(scale_limit(square, {-infinity, -infinity})));
  CHECK(all_nan(scale_limit(square, {1, nan})));
  CHECK(all_nan(scale_limit(SSA<double>{-1, 2}, {1, 2})));
  CHECK(all_nan(scale_limit(SSA<double>{1, 0.5}, {1, 2})));
  std::vector<double> in_place{3, -5, 4};
  ssa_scale_limit(square, in_place, in_place);
  CHECK(distance(in_place, {9.0 / 25, 0, 16.0 / 25}) < 1e-15);
}

TEST_CASE("what the first-order correction leaves of SSA falls like 1/k^2", "[scoring]") {
  Random random(212);
  for (int trial = 0; trial < 20; ++trial) {
    const auto z = random.normals(2 + random.below(10), 2);
    const auto left = [&](double k, double factor) {
      const auto a = weights_of(SSA<double>{1 / k, k}, z);
      const auto p = weights_of(Softmax<double>{}, z);
      const auto c = correction(k, z);
      double largest = 0;
      for (std::size_t i = 0; i < z.size(); ++i) raise(largest, std::abs(a[i] - p[i] - factor * c[i]));
      return largest;
    };
    const double ratio = left(1e4, 1) / left(1e5, 1);
    CHECK(std::abs(ratio - 100) < 2);
    CHECK(left(1e4, 1.01) / left(1e5, 1.01) < 20);  // an error in the correction would fall like 1/k
  }
  CHECK(correction(2, {3, 3}) == std::vector<double>{0, 0});
  CHECK(correction(2, {3}) == std::vector<double>{0});
  CHECK(distance(correction(2, {1, -infinity, -2}), {correction(2, {1, -2})[0], 0, correction(2, {1, -2})[1]}) < 1e-16);
  CHECK(all_nan(correction(0, {1, 2})));
  CHECK(all_nan(correction(-1, {1, 2})));
  CHECK(all_nan(correction(2, {1, nan})));
}

}  // namespace incontext::testing
