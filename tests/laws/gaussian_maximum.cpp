#include "incontext/laws/gaussian_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/oracle.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

double relative(double value, double reference) { return std::abs(value / reference - 1); }

}  // namespace

TEST_CASE("the largest weight reproduces the reference values", "[laws][oracle]") {
  for (const Json& one : cases("rem_pmax")) {
    const double n = number(one.at("in").at("n")), x = number(one.at("in").at("x"));
    check_output(one, "E_p_max", largest_weight(n, x).value);
  }
}

TEST_CASE("the larger of two weights is a one-dimensional integral", "[laws]") {
  for (const double x : {0.0, 1e-3, 0.3, 1.0, 1.9, 2.1, 6.0}) {
    // a kink at 0, so one side alone, by Simpson's rule
    double sum = 0;
    constexpr int steps = 20000;
    for (int i = 0; i <= steps; ++i) {
      const double g = 12.0 * i / steps, weight = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
      sum += weight * std::exp(-g * g / 2) * logistic(x * std::sqrt(2.0) * g);
    }
    const double exact = sum * 12.0 / steps / 3 * 2 / std::sqrt(2 * 3.14159265358979323846);
    CHECK(relative(largest_weight(2.0, x).value, exact) < 1e-11);
  }
}

TEST_CASE("the largest weight agrees with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 3 comparisons fails a true law once in half a million tests
  for (const auto& [n, x] : {std::pair{5, 0.5}, std::pair{30, 2.0}, std::pair{100, 6.0}}) {
    Random random(443);
    SampleMean mean;
    for (int trial = 0; trial < 20000; ++trial) {
      const SampledRow row(random.normals(static_cast<std::size_t>(n)), x);
      mean.add(*std::max_element(row.weights.begin(), row.weights.end()));
    }
    const double expected = largest_weight(static_cast<double>(n), x).value;
    CHECK(std::abs(mean.z(expected)) <= 5);
    CHECK_FALSE(std::abs(mean.z(1.03 * expected)) <= 5);
    CHECK_FALSE(std::abs(mean.z(gaussian_row(static_cast<double>(n), x).participation)) <= 5);
  }
}

TEST_CASE("the largest weight at its limits, up to a trillion scores", "[laws]") {
  CHECK(largest_weight(1.0, 3.0).value == 1);
  for (const double n : {2.0, 1e3, 1e12}) {
    CHECK(relative(largest_weight(n, 0.0).value, 1 / n) < 1e-11);
    CHECK(std::abs(largest_weight(n, 1e5).value - 1) < 1e-3);
    for (const double x : {0.3, 2.5, 30.0}) {
      const double largest = largest_weight(n, x).value, y2 = gaussian_row(n, x).participation;
      CHECK(y2 <= largest);             // sum a^2 <= max a
      CHECK(largest <= std::sqrt(y2));  // (max a)^2 <= sum a^2, and Jensen
    }
  }
}

TEST_CASE("the largest weight refuses what is no row", "[laws]") {
  CHECK(refuses([] { largest_weight(0.0, 1.0); }, {"largest_weight", "count", "value = 0"}));
  CHECK(refuses([] { largest_weight(2.5, 1.0); }, {"count", "2.5"}));
  CHECK(refuses([] { largest_weight(3.0, -1.0); }, {"spread", "-1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { largest_weight(x, 1.0); }, {"count"}));
    CHECK(refuses([x] { largest_weight(3.0, x); }, {"spread"}));
  }
}

}  // namespace incontext::testing
