#include "incontext/laws/ssa_row.hpp"

#include <algorithm>
#include <cmath>

#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

using Map = scoring::SSA<double>;

double weight(const Map& map, double z) { return std::exp(map.elementwise(1).value(z)); }

/// E f(z), z normal, by Simpson's rule on either side of the kink at 0.
template <class Function>
double mean_of(double variance, const Function& f, int steps = 4000) {
  double sum = 0;
  for (const double side : {-1.0, 1.0}) {
    for (int i = 0; i <= steps; ++i) {
      const double g = 12.0 * i / steps, share = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
      sum += share * std::exp(-g * g / 2) * f(side * std::sqrt(variance) * g);
    }
  }
  return sum * 12.0 / steps / 3 / std::sqrt(2 * 3.14159265358979323846);
}

}  // namespace

TEST_CASE("one or two scores under SSA agree with direct integrals", "[laws]") {
  for (const Map map : {Map{1, 1.5}, Map{0.1, 1.0}, Map{20, 3.0}, Map{2, 8.0}}) {
    for (const double v : {0.01, 1.0, 9.0}) {
      INFO("b " << map.base << ", k " << map.exponent << ", v " << v);
      const auto two = ssa_row(map, 2.0, v);
      CHECK(relative(two.mean_weight, mean_of(v, [&](double z) { return weight(map, z); })) < 1e-10);
      CHECK(relative(two.squared_weight, mean_of(v, [&](double z) { return std::pow(weight(map, z), 2); })) < 1e-9);
      const auto one = ssa_row(map, 1.0, v);
      CHECK(one.ipr == 1);
      CHECK(one.log_partition == 0);
      const double needle = mean_of(v, [&](double z) { return 1 / (1 + weight(map, z) / weight(map, 2.0)); });
      CHECK(relative(ssa_needle_weight(map, 1.0, v, 2.0).value, needle) < 1e-9);
    }
  }
  const Map map{1, 1.5};
  const double squares = mean_of(
      1,
      [&](double z) {
        return mean_of(
            1,
            [&](double y) {
              const double a = 1 / (1 + weight(map, y) / weight(map, z));
              return a * a + (1 - a) * (1 - a);
            },
            400);
      },
      400);
  CHECK(relative(ssa_row(map, 2.0, 1.0).ipr, squares) < 1e-7);
}

TEST_CASE("SSA on normal scores agrees with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 6 comparisons fails a true law once in 290 thousand tests
  for (const auto& [n, v] : {std::pair{8, 4.0}, std::pair{50, 1.0}}) {
    const Map map{1.0, 2.0};
    Random random(467);
    SampleMean ipr, log_partition, needle;
    for (int trial = 0; trial < 15000; ++trial) {
      const auto z = random.normals(static_cast<std::size_t>(n), std::sqrt(v));
      const auto a = weights_of(map, z);
      ipr.add(product(a, a));
      double sum = 0;
      for (const double score : z) sum += weight(map, score);
      log_partition.add(std::log(sum));
      needle.add(weight(map, 4.0) / (weight(map, 4.0) + sum));
    }
    const double count = n;
    const auto row = ssa_row(map, count, v);
    const double expected = ssa_needle_weight(map, count, v, 4.0).value;
    CHECK(std::abs(ipr.z(row.ipr)) <= 5);
    CHECK(std::abs(log_partition.z(row.log_partition)) <= 5);
    CHECK(std::abs(needle.z(expected)) <= 5);
    CHECK_FALSE(std::abs(ipr.z(row.typical_ipr)) <= 5);
    CHECK_FALSE(std::abs(log_partition.z(std::log(count * row.mean_weight))) <= 5);
    CHECK_FALSE(std::abs(needle.z(1.05 * expected)) <= 5);
  }
}

TEST_CASE("SSA never freezes: its inverse participation ratio falls like 1/n and a needle fades", "[laws]") {
  const Map map{1, 1.5};
  for (const double v : {1.0, 100.0}) {
    for (const double n : {1e4, 1e8, 1e12}) {
      const auto row = ssa_row(map, n, v);
      CHECK(relative(row.ipr, row.typical_ipr) < 200 / n + 1e-12);
      const double w = weight(map, 10.0), leading = w / (w + n * row.mean_weight);
      CHECK(relative(ssa_needle_weight(map, n, v, 10.0).value, leading) < 200 / n + 1e-11);
    }
  }
  // softmax on the same scores is frozen
  CHECK_FALSE(gaussian_row(1e4, 10.0).ipr < 0.1);
}

TEST_CASE("the error estimate of an SSA row is the larger one of its two integrals", "[laws]") {
  int first_is_larger = 0, second_is_larger = 0;
  for (const Map map : {Map{0.1, 1.0}, Map{1, 3.0}, Map{20, 1.5}}) {
    for (const double n : {2.0, 1e3}) {
      const auto row = ssa_row(map, n, 9.0);
      const laws::detail::SsaWeights<double> weights(3 * map.base, map.exponent);
      laws::detail::IidRow<laws::detail::SsaWeights<double>> terms(weights, n, -std::log(n * row.mean_weight));
      const auto y2 = terms.integrate("y2", [&](const auto& m, double) { return n * m.second * terms.others(m, 1); });
      const auto log_z = terms.integrate("log Z", [&](const auto& m, double s) {
        return (s + 0.57721566490153286061) * n * m.first * terms.others(m, 1);
      });
      const double relative_estimate = y2.error_estimate / y2.value;
      INFO("b " << map.base << ", k " << map.exponent << ", n " << n << ": " << relative_estimate << ", "
                << log_z.error_estimate);
      CHECK(row.error_estimate > 0);
      const double larger = std::max(relative_estimate, log_z.error_estimate);
      CHECK(std::abs(row.error_estimate - larger) <= 1e-2 * larger + 1e-14);
      ++(relative_estimate > 1.1 * log_z.error_estimate + 1e-13 ? first_is_larger : second_is_larger);
    }
  }
  CHECK(first_is_larger > 0);
  CHECK(second_is_larger > 0);
}

TEST_CASE("SSA on normal scores has its limits", "[laws]") {
  const Map map{1, 1.5};
  const auto flat = ssa_row(map, 9.0, 0.0);
  CHECK(relative(flat.ipr, 1.0 / 9) < 1e-12);
  CHECK(relative(flat.log_partition, std::log(9.0)) < 1e-12);
  CHECK(flat.mean_weight == 1);
  // only b sqrt(v) / tau enters
  const double scaled = ssa_row(Map{3, 2.0, 1.5}, 20.0, 0.25).ipr;
  CHECK(relative(scaled, ssa_row(Map{1, 2.0}, 20.0, 1.0).ipr) < 1e-12);
}

TEST_CASE("SSA on normal scores refuses what is no row", "[laws]") {
  const Map map{1, 1.5};
  CHECK(refuses([&] { ssa_row(map, 0.0, 1.0); }, {"ssa_row", "row_length", "value = 0"}));
  CHECK(refuses([&] { ssa_row(map, 2.5, 1.0); }, {"row_length", "2.5"}));
  CHECK(refuses([&] { ssa_row(map, 5.0, -1.0); }, {"variance", "-1"}));
  CHECK(refuses([] { ssa_row(Map{-1, 1.5}, 5.0, 1.0); }, {"base", "-1"}));
  CHECK(refuses([] { ssa_row(Map{1, 0.5}, 5.0, 1.0); }, {"exponent", "0.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([&] { ssa_row(map, x, 1.0); }, {"row_length"}));
    CHECK(refuses([&] { ssa_row(map, 5.0, x); }, {"variance"}));
    CHECK(refuses([&] { ssa_needle_weight(map, 5.0, 1.0, x); }, {"score"}));
    CHECK(refuses([&] { ssa_needle_weight(map, x, 1.0, 1.0); }, {"noise_count"}));
  }
}

TEST_CASE("a row of SSA as long as the scalar's range allows is right, and a longer one is refused", "[laws]") {
  const scoring::SSA<double> map{1, 2};
  for (const double n : {1e16, 1e40, 1e100, 1.2e145}) {
    const auto row = ssa_row(map, n, 1.0);
    INFO("n = " << n);
    CHECK(std::abs(row.ipr / row.typical_ipr - 1) <= 1e-11);
    CHECK(std::abs(row.log_partition - std::log(n) - std::log(row.mean_weight)) <= 1e-11 * std::log(n));
  }
  for (const double n : {1.4e145, 1e150, 1e160, 1e200, 1e300}) {
    CHECK(refuses([&] { ssa_row(map, n, 1.0); }, {"ssa_row", "row_length", "too large"}));
  }
}

}  // namespace incontext::testing
