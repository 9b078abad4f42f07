#include "incontext/laws/gaussian_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// The definition's double integral: trapezoidal in s, Simpson's rule in g, whose running integral is of cubics.
double maximum_by_definition(double n, double x) {
  constexpr double h = 1.0 / 128, g0 = -9.5;
  constexpr int steps = 20 * 128;
  const auto kernel = [](double g, double y) { return -std::exp(-g * g / 2) * std::expm1(-std::exp(y)); };
  double total = 0;
  const double top = x * std::sqrt(2 * std::log(n)), ds = std::max(0.2, x / 20);
  for (double s = -top - 12 * x - 40; s < -top + 8 * x + 10; s += ds) {
    double running = 0, sum = 0;
    for (int i = 0; i <= steps; ++i) {
      const double g = g0 + h * i, y = s + x * g, m = g - h / 2;
      if (i > 0) running += h / 6 * (kernel(g - h, y - x * h) + 4 * kernel(m, s + x * m) + kernel(g, y));
      const double missing = running / std::sqrt(2 * 3.14159265358979323846) + std::erfc(g / std::sqrt(2.0)) / 2;
      const double share = std::exp(y - std::exp(y) - g * g / 2 + (n - 1) * std::log1p(-std::min(missing, 1.0)));
      sum += (i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2)) * share;
    }
    total += sum * h / 3;
  }
  return n * total * ds / std::sqrt(2 * 3.14159265358979323846);
}

}  // namespace

TEST_CASE("the larger of two weights is a one-dimensional integral", "[laws]") {
  for (const double x : {0.0, 1e-3, 0.3, 1.0, 1.9, 2.1, 6.0}) {
    // the integrand has a kink at 0, so one side alone, by Simpson's rule
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

TEST_CASE("the largest of three weights is an integral over differences", "[laws]") {
  // the condition g_1 >= g_2 >= g_3 is a sector of 60 degrees in the plane of the differences; in a smooth periodic
  // function of the angle midpoints would do, but this one is not periodic, so Simpson's rule in both
  for (const double x : {0.2, 1.0, 4.0}) {
    constexpr int steps = 800;
    const auto weight = [](int i) { return i == 0 || i == steps ? 1.0 : (i % 2 == 1 ? 4.0 : 2.0); };
    double sum = 0;
    for (int i = 0; i <= steps; ++i) {
      const double r = 9.5 * i / steps;
      for (int j = 0; j <= steps; ++j) {
        const double angle = 3.14159265358979323846 / 3 * j / steps;
        // |(g_1 - g_2) / sqrt 2| = r sin, |(2 g_3 - g_1 - g_2) / sqrt 6| = r cos
        const double gap = std::sqrt(2.0) * r * std::sin(angle);
        const double low = std::sqrt(1.5) * r * std::cos(angle) + gap / 2;
        sum += weight(i) * weight(j) * r * std::exp(-r * r / 2) / (1 + std::exp(-x * gap) + std::exp(-x * low));
      }
    }
    const double exact = 6 * sum * (9.5 / steps / 3) / steps / 3 / 6;
    CHECK(relative(largest_weight(3.0, x).value, exact) < 1e-9);
    CHECK_FALSE(relative(largest_weight(3.0, x * 1.00001).value, exact) < 1e-9);
  }
}

TEST_CASE("the largest weight of a long row is the integral of its definition", "[laws]") {
  for (const auto& [n, x] : {std::pair{50.0, 0.3}, std::pair{1e6, 4.0}, std::pair{1e6, 12.0}}) {
    const double exact = maximum_by_definition(n, x);
    INFO("n " << n << ", x " << x << ": " << largest_weight(n, x).value << " against " << exact);
    CHECK(relative(largest_weight(n, x).value, exact) < 1e-8);
    CHECK_FALSE(relative(largest_weight(n, x * 1.00001).value, exact) < 1e-8);
  }
}

TEST_CASE("the largest weight keeps its digits in the longest rows, where rare high scores matter most", "[laws]") {
  // the same sums in long double
  CHECK(relative(largest_weight(9e15, 3.5).value, 1.10560435575295054e-06) < 2e-13);
  CHECK(relative(largest_weight(1e15, 3.25).value, 1.21058827950045443e-06) < 2e-13);
  CHECK(relative(largest_weight(1e12, 2.75).value, 8.19022865274315779e-06) < 2e-13);
}

TEST_CASE("what doubling a step of the largest weight's sums would change is known without doubling it", "[laws]") {
  using Sums = laws::detail::MaximumSums<double>;
  for (const auto& [n, x] : {std::pair{2.0, 0.5}, std::pair{2.0, 3.0}, std::pair{4.0, 1.0}, std::pair{1e3, 2.0}}) {
    laws::detail::LargestShare<double> share(n, x);
    const auto fine = share.steps(1e-12);
    for (double Sums::*one : {&Sums::u, &Sums::g, &Sums::d}) {
      auto coarse = fine, doubled = fine;
      coarse.*one = 4 * fine.*one;
      doubled.*one = 2 * coarse.*one;
      Sums change{}, unused{};
      const double value = share.integrate(coarse, change), far = share.integrate(doubled, unused);
      INFO("n " << n << ", x " << x << ": " << change.*one << " against " << std::abs(far / value - 1));
      CHECK(change.*one > 1e-12);
      CHECK(std::abs(change.*one / std::abs(far / value - 1) - 1) < 0.05);
    }
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
    CHECK_FALSE(std::abs(mean.z(gaussian_row(static_cast<double>(n), x).ipr)) <= 5);
  }
}

TEST_CASE("the largest weight has its limits, up to a trillion scores", "[laws]") {
  CHECK(largest_weight(1.0, 3.0).value == 1);
  for (const double n : {2.0, 1e3, 1e12}) {
    CHECK(relative(largest_weight(n, 0.0).value, 1 / n) < 1e-11);
    CHECK(std::abs(largest_weight(n, 1e5).value - 1) < 1e-3);
    for (const double x : {0.3, 2.5, 30.0}) {
      const double largest = largest_weight(n, x).value, y2 = gaussian_row(n, x).ipr;
      CHECK(y2 <= largest);             // sum a^2 <= max a
      CHECK(largest <= std::sqrt(y2));  // (max a)^2 <= sum a^2, and Jensen
    }
  }
}

TEST_CASE("the largest weight refuses what is no row", "[laws]") {
  CHECK(refuses([] { largest_weight(0.0, 1.0); }, {"largest_weight", "row_length", "value = 0"}));
  CHECK(refuses([] { largest_weight(2.5, 1.0); }, {"row_length", "2.5"}));
  CHECK(refuses([] { largest_weight(3.0, -1.0); }, {"score_stddev", "-1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { largest_weight(x, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { largest_weight(3.0, x); }, {"score_stddev"}));
  }
}

}  // namespace incontext::testing
