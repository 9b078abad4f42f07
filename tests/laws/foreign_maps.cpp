#include "support/foreign_maps.hpp"

#include <cmath>
#include <vector>

#include "incontext/laws/fading_by_map.hpp"
#include "incontext/laws/row_moments.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace foreign_maps_laws_test {

using namespace incontext;
using foreign::Asinh;
using scoring::Row;

namespace {

struct PairMoments {
  double ipr = 0, mean_score = 0, mean_square_score = 0;
};

/// A row of two scores by a grid over both normals, whose error falls faster than any power of its step.
PairMoments by_grid(const Asinh<double>& map, double variance) {
  constexpr double step = 0.0625, reach = 9;
  const double stddev = std::sqrt(variance);
  PairMoments moments;
  std::vector<double> z(2), a(2);
  for (double g = -reach; g <= reach; g += step) {
    for (double h = -reach; h <= reach; h += step) {
      z = {stddev * g, stddev * h};
      weights(map, Row<const double>(z), Row<double>(a));
      const double density = step * step * std::exp(-(g * g + h * h) / 2) / (2 * 3.14159265358979323846);
      const double mean = a[0] * z[0] + a[1] * z[1];
      moments.ipr += density * (a[0] * a[0] + a[1] * a[1]);
      moments.mean_score += density * mean;
      moments.mean_square_score += density * mean * mean;
    }
  }
  return moments;
}

}  // namespace

TEST_CASE("moments of a row accept a foreign elementwise map", "[laws]") {
  for (const double steepness : {0.5, 1.5}) {
    for (const double variance : {0.25, 4.0}) {
      const Asinh<double> map(steepness);
      const auto found = laws::row_moments(map, 2, variance);
      const auto expected = by_grid(map, variance);
      CHECK(std::abs(found.ipr - expected.ipr) < 1e-9);
      CHECK(std::abs(found.mean_score - expected.mean_score) < 1e-9);
      CHECK(std::abs(found.mean_square_score - expected.mean_square_score) < 1e-9);
    }
  }
}

TEST_CASE("two levels of scores accept a foreign elementwise map", "[laws]") {
  const Asinh<double> map(2);
  std::vector<double> scores(50, -1.0), a(50);
  scores[7] = 3;
  weights(map, Row<const double>(scores), Row<double>(a));
  const auto found = laws::two_level_weights(map, 50, 3.0, -1.0);
  CHECK(std::abs(found.high - a[7]) < 1e-15);
  CHECK(std::abs(found.low - a[0]) < 1e-15);
  CHECK(testing::names(testing::message_of([] { laws::two_level_weights(Asinh<double>(-2), 50, 3.0, -1.0); }),
                       "two_level_weights", "outside its domain"));
}

}  // namespace foreign_maps_laws_test
