#include "incontext/scoring/ssa.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("SSA is its definition (1 + b|z|)^(sgn(z) k) over the sum", "[scoring]") {
  const SSA<double> map{0.75, 2.5, 1.5};
  const std::vector<double> z{0.5, -1.25, 3, 0, -7, 12};
  std::vector<double> w;
  for (const double x : z) {
    const double y = x / map.temperature;
    w.push_back(std::pow(1 + map.base * std::abs(y), y < 0 ? -map.exponent : map.exponent));
  }
  const auto a = weights_of(map, z);
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(a[i] - w[i] / total(w)) < 1e-15);
  CHECK(std::abs(weights_of(SSA<double>{0.75, 2.5, 1.6}, z)[0] - a[0]) > 1e-4);
}

TEST_CASE("scaling the scores of SSA is scaling its base", "[scoring]") {
  Random random(31);
  const auto z = random.normals(9, 2);
  for (const double c : {1e-6, 0.5, 3.0, 1e8}) {
    auto scaled = z;
    for (double& x : scaled) x *= c;
    const auto a = weights_of(SSA<double>{0.8, 1.5}, scaled);
    CHECK(distance(a, weights_of(SSA<double>{0.8 * c, 1.5}, z)) < 1e-14);
    CHECK(distance(a, weights_of(SSA<double>{0.8, 1.5, 1 / c}, z)) < 1e-14);
    // b d/db = sum_i z_i d/dz_i, and the opposite for the temperature
    const auto along = jvp_of(SSA<double>{0.8, 1.5}, scaled, scaled);
    auto by_base = derivative_of(SSA<double>{0.8, 1.5}, parameter::Base{}, scaled);
    auto by_temperature = derivative_of(SSA<double>{0.8, 1.5}, parameter::Temperature{}, scaled);
    for (double& x : by_base) x *= 0.8;
    for (double& x : by_temperature) x = -x;
    CHECK(distance(along, by_base) < 1e-13);
    CHECK(distance(along, by_temperature) < 1e-13);
  }
}

TEST_CASE("large scores of SSA share the weight by powers, never one for all", "[scoring]") {
  const auto limit = [](std::vector<double> z, double k) {
    for (double& x : z) x *= 1e200;
    return weights_of(SSA<double>{1, k}, z);
  };
  CHECK(distance(limit({1, 2, -3, 0}, 2), {0.2, 0.8, 0, 0}) < 1e-12);   // positive scores: z^k
  CHECK(distance(limit({-1, 0, -3, 0}, 2), {0, 0.5, 0, 0.5}) < 1e-12);  // else the zeros
  CHECK(distance(limit({-1, -2}, 2), {0.8, 0.2}) < 1e-12);              // else |z|^-k
  CHECK(distance(weights_of(SSA<double>{1e-3, 2}, {1e308, -1e308, 5e307}), {0.8, 0, 0.2}) < 1e-12);
  CHECK(distance(weights_of(SSA<double>{100, 2}, {1e308, -1e308, 5e307}), {0.8, 0, 0.2}) < 1e-12);
}

TEST_CASE("a large common shift makes SSA uniform", "[scoring]") {
  for (const double shift : {1e12, -1e12}) {
    const auto a = weights_of(SSA<double>{1, 2}, {shift, shift + 5, shift - 3});
    for (const double x : a) CHECK(std::abs(x - 1.0 / 3) < 1e-10);
  }
}

TEST_CASE("the derivative of SSA by its base keeps its digits at huge scores", "[scoring]") {
  // f = k z / (1 + b|z|) tends to k/b for both scores: their difference is k (z - w) / ((1 + b z)(1 + b w)).
  const double z = 3e9, w = 1e9, b = 0.5, k = 1.5;
  const auto a = weights_of(SSA<double>{b, k}, {z, w});
  const double expected = a[0] * a[1] * k * (z - w) / ((1 + b * z) * (1 + b * w));
  const auto rate = derivative_of(SSA<double>{b, k}, parameter::Base{}, {z, w});
  CHECK(std::abs(rate[0] - expected) < 1e-14 * expected);
  CHECK(std::abs(rate[1] + expected) < 1e-14 * expected);
  const double naive = a[0] * a[1] * (k * z / (1 + b * z) - k * w / (1 + b * w));
  CHECK(std::abs(naive - expected) > 1e-9 * expected);
}

TEST_CASE("SSA is once but not twice differentiable at 0", "[scoring]") {
  const auto phi = SSA<double>{0.5, 2}.elementwise(1);
  CHECK(phi.slope(0.0) == 1);  // k b
  CHECK(std::abs(phi.slope(1e-12) - 1) < 1e-11);
  CHECK(std::abs(phi.slope(-1e-12) - 1) < 1e-11);
  CHECK(std::abs(phi.curvature(1e-12) + 0.5) < 1e-11);  // -k b^2
  CHECK(std::abs(phi.curvature(-1e-12) - 0.5) < 1e-11);
  CHECK(phi.value(-3.0) == -phi.value(3.0));
  CHECK(phi.curvature(0.0) == 0);  // between the two one-sided values
  CHECK(phi.curvature(-0.0) == 0);
}

TEST_CASE("SSA's logarithm is finite where the score over the knee is beyond the largest double", "[scoring]") {
  const double z = 1e308, logarithm = 713.8013788281542;  // log(1 + 100 z) = 310 log 10
  const SSA<double> map{100, 1};
  CHECK(std::abs(map.elementwise(1).value(z) / logarithm - 1) < 1e-15);
  CHECK(std::abs(map.elementwise(1).value(-z) / logarithm + 1) < 1e-15);
  CHECK(std::abs(map.elementwise(1).value(-z) / logarithm + 1 + 1e-12) > 1e-15);
  std::vector<double> log_row(2);
  log_weights(map, std::vector<double>{z, -1.0}, log_row);
  CHECK(std::abs(log_row[0]) < 1e-300);
  CHECK(std::abs(log_row[1] / -(logarithm + std::log(101.0)) - 1) < 1e-15);
}

}  // namespace incontext::testing
