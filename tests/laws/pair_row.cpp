#include "incontext/laws/pair_row.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "incontext/laws/standard_row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "laws/pairs_of_two_scores.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::pair_row_test {

namespace {

laws::PairRow<double> softmax_pair(double count, double x, double y) {
  const scoring::Softmax<double> softmax{1.0};
  return pair<double>(softmax, softmax, count, x, y);
}

}  // namespace

TEST_CASE("the pairs of two scores are one integral over their difference") {
  for (const auto& [x, y] : {std::pair{0.3, -0.7}, {1.0, 2.5}, {-4.0, 3.0}, {8.0, 0.01}}) {
    CAPTURE(x, y);
    const auto found = softmax_pair(2, x, y), exact = of_two_scores(x, y);
    CHECK(relative(found.overlap, exact.overlap) < 1e-11);
    CHECK(relative(found.mean_score_square, exact.mean_score_square) < 1e-11);
    CHECK(found.error_estimate < 1e-11);
  }
}

TEST_CASE("two other maps on two scores are one integral, too") {
  const scoring::SSA<double> steep{1.0, 3.0}, flat{0.4, 2.0};
  const auto found = pair<double>(steep, flat, 2, 1.2, -0.8);
  // over both scores: a trapezoidal rule whose points meet the kinks at 0
  double overlap = 0, square = 0;
  const double step = 1.0 / 64;
  for (int i = -576; i <= 576; ++i) {
    for (int j = -576; j <= 576; ++j) {
      const double g = i * step, h = j * step,
                   weight = step * step * std::exp(-(g * g + h * h) / 2) / 6.283185307179586;
      const auto first = [](const auto& map, double x, double a, double b) {
        return 1 / (1 + std::exp(map.elementwise(1).value(x * b) - map.elementwise(1).value(x * a)));
      };
      const double p = first(steep, 1.2, g, h), q = first(flat, -0.8, g, h);
      overlap += weight * (p * q + (1 - p) * (1 - q));
      square += weight * (p * g + (1 - p) * h) * (q * g + (1 - q) * h);
    }
  }
  CHECK(relative(found.overlap, overlap) < 1e-8);
  CHECK(relative(found.mean_score_square, square) < 1e-8);
}

TEST_CASE("a map beside itself has the moments of one row, from one score to a million") {
  const scoring::Softmax<double> softmax{1.0};
  const scoring::SSA<double> ssa{1.5, 2.0};
  for (const double count : {1.0, 3.0, 64.0, 1e6}) {
    for (const double x : {1e-3, 0.5, 3.0}) {
      CAPTURE(count, x);
      const auto check = [&](const auto& map) {
        const auto row = laws::StandardRows("row", map.elementwise(1), count)(x);
        const auto both = pair<double>(map, map, count, x, x);
        CHECK(relative(both.overlap, row.ipr) < 1e-11);
        CHECK(relative(both.mean_score_square, row.mean_square_score) < 1e-11);
      };
      check(softmax);
      check(ssa);
    }
  }
}

TEST_CASE("beside uniform weights both moments of softmax are 1/n; pairs do not depend on their order or sign") {
  for (const double count : {2.0, 10.0, 1e4}) {
    const auto uniform = softmax_pair(count, 0, 1.7);
    CHECK(relative(uniform.overlap, 1 / count) < 1e-11);
    CHECK(relative(uniform.mean_score_square, 1 / count) < 1e-11);
    const auto one = softmax_pair(count, 0.4, 1.7), turned = softmax_pair(count, -1.7, -0.4);
    CHECK(relative(one.overlap, turned.overlap) < 1e-12);
    CHECK(relative(one.mean_score_square, turned.mean_score_square) < 1e-12);
  }
}

TEST_CASE("pairs of rows agree with rows that are drawn, and independent rows do not") {
  std::mt19937_64 engine(2503);
  std::normal_distribution<double> normal;
  const scoring::SSA<double> steep{1.0, 3.0}, flat{0.4, 2.0};
  const std::size_t count = 12;
  SampleMean overlap, square;
  for (int trial = 0; trial < 100000; ++trial) {
    double total = 0, other_total = 0, both = 0, mean = 0, other_mean = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double g = normal(engine);
      const double w = std::exp(steep.elementwise(1).value(1.2 * g)), v = std::exp(flat.elementwise(1).value(-0.8 * g));
      total += w;
      other_total += v;
      both += w * v;
      mean += w * g;
      other_mean += v * g;
    }
    overlap.add(both / total / other_total);
    square.add(mean / total * other_mean / other_total);
  }
  const auto row = pair<double>(steep, flat, count, 1.2, -0.8);
  CHECK(std::abs(overlap.z(row.overlap)) < 3.5);
  CHECK(std::abs(square.z(row.mean_score_square)) < 3.5);
  CHECK(std::abs(overlap.z(1.0 / count)) > 20);
  CHECK(std::abs(square.z(laws::StandardRows("row", steep.elementwise(1), 12.0)(1.2).mean_score *
                          laws::StandardRows("row", flat.elementwise(1), 12.0)(-0.8).mean_score)) > 10);
}

TEST_CASE("a coarser pair is as inexact as was asked for") {
  const scoring::Softmax<double> softmax{1.0};
  const auto phi = softmax.elementwise(1);
  const laws::PairRows<decltype(phi), double> rows("pair", phi, phi, 64.0);
  for (const double precision : {1e-4, 1e-7, 1e-10}) {
    for (const double x : {0.01, 0.8, 3.0}) {
      const double off = relative(rows(x, -x, precision).overlap, rows(x, -x).overlap);
      CAPTURE(precision, x);
      CHECK(off < 100 * precision);
    }
  }
}

TEST_CASE("maps outside their domain and scores that are too wide are refused by name") {
  const scoring::Softmax<double> none{0.0};
  CHECK(refuses([&] { pair<double>(none, none, 8, 1.0, 1.0); }, {"pair", "a map is outside its domain"}));
  CHECK(refuses([] { softmax_pair(8, 100.0, 1.0); }, {"pair", "too wide", "value = 100"}));
}

}  // namespace incontext::testing::pair_row_test
