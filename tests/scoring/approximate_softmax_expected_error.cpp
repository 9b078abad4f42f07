#include "incontext/scoring/approximate_softmax_expected_error.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/approximate_softmax_error.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

constexpr double pi = 3.14159265358979323846;

/// Y_2 = E sum a^2 of n normal scores of variance v, by the trapezoidal rule on
/// n int ds E[w^2 e^(2s - w e^s)] (E e^(-w e^s))^(n - 1), w = e^(sqrt(v) g).
double ipr(int n, double v) {
  const double x = std::sqrt(v), h = 0.1, step = 0.02;
  double outer = 0;
  for (double s = -45; s < 9.5 * x + 5; s += step) {
    double inner = 0, psi = 0;
    for (double g = -9.5; g <= 9.5; g += h) {
      const double density = std::exp(-g * g / 2) / std::sqrt(2 * pi) * h;
      const double y = s + x * g;
      psi += density * std::exp(-std::exp(y));
      inner += density * std::exp(2 * y - std::exp(y));
    }
    outer += step * inner * std::pow(psi, n - 1);
  }
  return n * outer;
}

}  // namespace

TEST_CASE("expected errors agree with sampled rows", "[scoring][statistics]") {
  // |z| <= 5 fails a true formula once in 1.7 million tests; a formula off by one in ten is refused.
  constexpr int rows = 40000;
  for (const auto& [n, v] : {std::pair{3, 1.0}, std::pair{8, 0.25}, std::pair{16, 2.0}}) {
    Random random(161 + static_cast<std::uint64_t>(n));
    double mean = 0, squares = 0, negative = 0;
    for (int trial = 0; trial < rows; ++trial) {
      const auto z = random.normals(static_cast<std::size_t>(n), std::sqrt(v));
      std::vector<double> error(z.size());
      approximate_softmax_error(ApproximateSoftmax<double>{}, z, error);
      const double squared = n * product(error, error);
      mean += squared / rows;
      squares += squared * squared / rows;
      negative += weights_of(ApproximateSoftmax<double>{}, z)[0] < 0;
    }
    const double standard_error = std::sqrt((squares - mean * mean) / rows);
    const double expected = approximate_softmax_expected_squared_error(n, v, ipr(n, v));
    INFO("n " << n << ", v " << v << ": " << mean << " +- " << standard_error << ", theory " << expected);
    CHECK(std::abs(mean - expected) <= 5 * standard_error);
    CHECK_FALSE(std::abs(mean - 1.1 * expected) <= 5 * standard_error);
    const double p = approximate_softmax_negative_weight_probability(n, v);
    const double spread = std::sqrt(p * (1 - p) / rows);
    CHECK(std::abs(negative / rows - p) <= 5 * spread);
    CHECK_FALSE(std::abs(negative / rows - 0.7 * p) <= 5 * spread);
  }
}

TEST_CASE("the expected absolute error is the integral of the absolute value", "[scoring]") {
  for (const double v : {0.01, 0.25, 1.0, 3.0, 9.0}) {
    const double sigma = std::sqrt(v), h = 2e-4;
    double integral = 0;
    for (double g = -12; g < 12; g += h) {
      const double c = sigma * (g + h / 2);
      integral +=
          h * std::abs(std::expm1(c - v / 2) - c) * std::exp(-(g + h / 2) * (g + h / 2) / 2) / std::sqrt(2 * pi);
    }
    CHECK(std::abs(approximate_softmax_expected_absolute_error_limit(v) / integral - 1) < 1e-6);
  }
  const double slope = 2 * std::exp(-0.5) / std::sqrt(2 * pi);  // 2 phi(1)
  CHECK(std::abs(approximate_softmax_expected_absolute_error_limit(1e-6) / 1e-6 / slope - 1) < 1e-5);
  CHECK(std::abs(approximate_softmax_expected_squared_error_limit(1e-6) / 1e-12 - 0.5) < 1e-6);
}

TEST_CASE("the expected absolute error rounds as stated", "[scoring][accuracy]") {
  struct Case {
    double variance;
    double value;  // E|e^(c - v/2) - 1 - c| at 50 digits, from the roots between which it is negative
  };
  for (const auto& [variance, value] :
       {Case{0x1p-10, 0.00047257343236822859460}, Case{0.25, 0.11932467050100060572}, Case{1, 0.4582809167386815616},
        Case{4, 1.5762563809171233479}, Case{16, 4.0113265954403790146}, Case{64, 7.4321657538489148233}}) {
    const double error = std::abs(approximate_softmax_expected_absolute_error_limit(variance) - value);
    INFO("v " << variance << ", error " << error);
    CHECK(error <= 64 * 2.3e-16);
    CHECK_FALSE(std::abs(approximate_softmax_expected_absolute_error_limit(variance * (1 + 1e-9)) - value) <=
                64 * 2.3e-16);
  }
}

TEST_CASE("outputs of both maps on normal tokens differ by the stated distance", "[scoring][statistics]") {
  constexpr int n = 4000, d = 4, rows = 400;
  const double v = 0.5, x = std::sqrt(v);
  Random random(171);
  double mean = 0, squares = 0;
  for (int trial = 0; trial < rows; ++trial) {
    std::vector<std::vector<double>> tokens;
    for (int c = 0; c < d; ++c) tokens.push_back(random.normals(n));
    std::vector<double> z = tokens[0], error(n);
    for (double& s : z) s *= x;
    approximate_softmax_error(ApproximateSoftmax<double>{}, z, error);
    double gap = 0;
    for (const auto& component : tokens) gap += std::pow(product(error, component), 2);
    mean += gap / rows;
    squares += gap * gap / rows;
  }
  const double expected = approximate_softmax_output_error(n, d, v);
  const double standard_error = std::sqrt((squares - mean * mean) / rows);
  CHECK(std::abs(mean - expected) <= 5 * standard_error);
  CHECK_FALSE(std::abs(mean - 2 * expected) <= 5 * standard_error);
}

TEST_CASE("expected errors have their limits, and are NaN outside their domain", "[scoring]") {
  CHECK(approximate_softmax_expected_absolute_error_limit(0.0) == 0);
  CHECK(approximate_softmax_expected_squared_error(1, 2.0, 1.0) == 0);
  CHECK(approximate_softmax_negative_weight_probability(1, 2.0) == 0);
  CHECK(approximate_softmax_negative_weight_probability(5, 0.0) == 0);
  CHECK(std::abs(approximate_softmax_negative_weight_probability(5, 1e30) - 0.5) < 1e-14);
  CHECK(approximate_softmax_output_error(5, 3, 0.0) == 0);
  CHECK(std::isnan(approximate_softmax_expected_absolute_error_limit(-1.0)));
  CHECK(std::isnan(approximate_softmax_expected_squared_error(0, 1.0, 1.0)));
  CHECK(std::isnan(approximate_softmax_expected_squared_error_limit(nan)));
  CHECK(std::isnan(approximate_softmax_negative_weight_probability(3, -1.0)));
  CHECK(std::isnan(approximate_softmax_output_error(3, 0, 1.0)));
}

}  // namespace incontext::testing
