#include "incontext/laws/gaussian_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/normsoftmax_gradient_sizes.hpp"
#include "laws/functionals.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// The same functionals of one row, by their definitions.
std::array<double, functionals> definitions(const std::vector<double>& g, double x) {
  const SampledRow row(g, x);
  double entropy = 0, mean = 0, squares = 0, deviation = 0, frobenius = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    entropy -= row.weights[i] > 0 ? row.weights[i] * std::log(row.weights[i]) : 0;
    mean += row.weights[i] * g[i];
    squares += row.weights[i] * g[i] * g[i];
  }
  for (std::size_t i = 0; i < g.size(); ++i) {
    deviation += std::pow(row.weights[i] * (g[i] - mean), 2);
    for (std::size_t j = 0; j < g.size(); ++j) {
      frobenius += std::pow((i == j ? row.weights[i] : 0) - row.weights[i] * row.weights[j], 2);
    }
  }
  const double y2 = row.sum_of_powers(2), variance = squares - mean * mean;
  return {row.log_partition,
          entropy,
          y2,
          row.sum_of_powers(3),
          y2 * y2,
          1 - y2,
          (1 - y2) * (1 - y2),
          frobenius,
          mean,
          mean * mean,
          variance,
          variance * variance,
          deviation};
}

/// All functionals of two scores: the weights depend on their difference alone, N(0, 2).
std::array<double, functionals> pair_by_integrals(double x) {
  const auto mean = [&](auto f) {
    return normal_mean([&](double g) {
      const double d = std::sqrt(2.0) * g, a = logistic(x * d), b = logistic(-x * d);
      return f(a, b, d);
    });
  };
  const auto of_product = [&](double power) {
    return mean([&](double a, double b, double) { return std::pow(a * b, power); });
  };
  const double entropy = mean(
      [&](double a, double b, double d) { return a * std::log1p(std::exp(-x * d)) + b * std::log1p(std::exp(x * d)); });
  const double variance = mean([](double a, double b, double d) { return a * b * d * d; });
  const double own = mean([&](double a, double, double d) { return std::pow((a - 0.5) * d, 2); });
  return {mean([&](double, double, double d) { return std::log1p(std::exp(-x * std::abs(d))) + x * std::abs(d) / 2; }),
          entropy,
          1 - 2 * of_product(1),
          1 - 3 * of_product(1),
          1 - 4 * of_product(1) + 4 * of_product(2),
          2 * of_product(1),
          4 * of_product(2),
          4 * of_product(2),
          mean([](double a, double, double d) { return (a - 0.5) * d; }),
          0.5 + own,
          variance,
          mean([](double a, double b, double d) { return std::pow(a * b * d * d, 2); }),
          mean([](double a, double b, double d) { return 2 * std::pow(a * b * d, 2); })};
}

}  // namespace

TEST_CASE("two scores: every functional is a one-dimensional integral", "[laws]") {
  for (const double x : {0.0, 1e-3, 0.1, 1.0, 1.9, 2.1, 5.0, 12.0}) {
    const auto exact = pair_by_integrals(x);
    const auto row = values(gaussian_row(2.0, x));
    for (std::size_t i = 0; i < functionals; ++i) {
      INFO("x " << x << ", functional " << i << ": " << row[i] << " against " << exact[i]);
      CHECK(relative(row[i], exact[i]) < 1e-11);
    }
  }
}

TEST_CASE("every functional agrees with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 39 comparisons fails a true law once in 40 thousand tests
  for (const auto& [n, x] : {std::pair{3, 0.7}, std::pair{8, 2.0}, std::pair{40, 5.0}}) {
    Random random(411 + static_cast<std::uint64_t>(n));
    std::array<SampleMean, functionals> means;
    for (int trial = 0; trial < 20000; ++trial) {
      const auto row = definitions(random.normals(static_cast<std::size_t>(n)), x);
      for (std::size_t i = 0; i < functionals; ++i) means[i].add(row[i]);
    }
    const auto expected = values(gaussian_row(static_cast<double>(n), x));
    for (std::size_t i = 0; i < functionals; ++i) {
      INFO("n " << n << ", x " << x << ", functional " << i << ": " << means[i].mean() << ", theory " << expected[i]);
      CHECK(std::abs(means[i].z(expected[i])) <= 5);
      CHECK_FALSE(std::abs(means[i].z(1.1 * expected[i])) <= 5);
    }
    // this holds only while the noise is self-averaging
    CHECK_FALSE(std::abs(means[2].z(annealed_ipr(static_cast<double>(n), x))) <= 5);
  }
}

TEST_CASE("e^(x^2) / n is the inverse participation ratio of a self-averaging row and of no other", "[laws]") {
  CHECK(relative(annealed_ipr(8192.0, 0.5), gaussian_row(8192.0, 0.5).ipr) < 1e-3);
  for (const auto& [n, x] : {std::pair{1024.0, 2.0}, std::pair{1e6, 4.0}, std::pair{16.0, 3.0}}) {
    CHECK_FALSE(relative(annealed_ipr(n, x), gaussian_row(n, x).ipr) < 0.5);
  }
}

TEST_CASE("Gaussian integration by parts ties the functionals together", "[laws]") {
  for (const double n : {3.0, 64.0, 1e5, 1e9}) {
    for (const double x : {0.2, 1.0, 3.0, 6.0}) {
      const auto r = gaussian_row(n, x);
      const double y2 = r.ipr, y3 = r.cubed_weights, y22 = r.squared_ipr;
      INFO("n " << n << ", x " << x);
      CHECK(relative(y2 + r.trace, 1) < 1e-12);
      CHECK(relative(y2 - 2 * y3 + y22, r.squared_frobenius) < 1e-9);
      CHECK(relative(1 - 2 * y2 + y22, r.squared_trace) < 1e-9);
      CHECK(relative(y2 + x * x * (1 - y2 - 6 * y3 + 6 * y22), r.squared_mean_score) < 1e-9);
      CHECK(relative(1 - y2 + x * x * (-2 * y2 + 8 * y3 - 6 * y22), r.score_variance) < 1e-9);
      const double h = 1e-4;
      const auto up = gaussian_row(n, x + h), down = gaussian_row(n, x - h);
      CHECK(relative((up.log_partition - down.log_partition) / (2 * h), r.mean_score) < 1e-7);
      CHECK(relative((down.entropy - up.entropy) / (2 * h), x * r.score_variance) < 1e-6);
    }
  }
}

TEST_CASE("the mean square score keeps its digits in a long row of nearly equal scores", "[laws]") {
  // E M^2 = Y_2 + x^2 (1 - Y_2) up to a relative 6 Y_2, and Y_2 = e^(x^2) / n up to a relative 1 / n
  for (const double n : {1e12, 1e15}) {
    for (const double x : {1e-7, 1e-6, 1e-5, 1e-3, 0.03}) {
      const double y2 = std::exp(x * x) / n, expected = y2 + x * x * (1 - y2);
      INFO("n " << n << ", x " << x);
      CHECK(relative(gaussian_row(n, x).squared_mean_score, expected) < 1e-11);
    }
  }
}

TEST_CASE("the error estimate of a row is no less than that of any of its integrals, and is no error", "[laws]") {
  const auto relative_estimate = [](const numerics::Quadrature<double>& integral) {
    return integral.error_estimate / integral.value;
  };
  for (const double n : {2.0, 8.0, 1e3}) {
    for (const double x : {0.1, 1.0, 2.0, 3.0, 5.0, 7.0, 12.0}) {
      const auto row = gaussian_row(n, x);
      INFO("n " << n << ", x " << x << ", estimate " << row.error_estimate);
      laws::detail::with_normal_row(n, x, [&](auto terms) {
        const auto y2 = terms.integrate("y2", [&](const auto& m, double) { return n * m.second * terms.others(m, 1); });
        const auto y3 = terms.integrate("y3", [&](const auto& m, double) { return n * m.third * terms.others(m, 1); });
        const auto trace = terms.integrate(
            "trace", [&](const auto& m, double) { return n * (n - 1) * m.first * m.first * terms.others(m, 2); });
        CHECK(row.error_estimate >= 0.99 * relative_estimate(y2));
        CHECK(row.error_estimate >= 0.99 * relative_estimate(y3));
        CHECK(row.error_estimate >= 0.99 * relative_estimate(trace));
      });
      CHECK(row.error_estimate > 0);
      CHECK(row.error_estimate <= numerics::quadrature_tolerance<double>());
    }
  }
}

TEST_CASE("a row of normal scores has its limits", "[laws]") {
  for (const double n : {2.0, 7.0, 1e9}) {
    const auto uniform = gaussian_row(n, 0.0);
    CHECK(relative(uniform.ipr, 1 / n) < 1e-13);
    CHECK(relative(uniform.entropy, std::log(n)) < 1e-13);
    CHECK(relative(uniform.squared_mean_score, 1 / n) < 1e-13);
    CHECK(uniform.mean_score == 0);
    const auto peaked = gaussian_row(n, 1e6);
    CHECK(std::abs(peaked.ipr - 1) < 1e-4);
    CHECK(peaked.entropy < 1e-4);
  }
  const auto one = gaussian_row(1.0, 3.0);
  CHECK(one.ipr == 1);
  CHECK(one.entropy == 0);
  CHECK(one.log_partition == 0);
  CHECK(one.squared_mean_score == 1);
  CHECK(one.score_variance == 0);
}

TEST_CASE("a deeply frozen row keeps the digits of what is left", "[laws]") {
  // Near ties of the two highest scores alone: density of their gap at 0 times an integral over the gap.
  const double pi = 3.14159265358979323846;
  for (const double n : {2.0, 5.0, 1000.0}) {
    const double ties =
        n * (n - 1) * normal_mean([&](double g) {
          return std::exp(-g * g / 2) / std::sqrt(2 * pi) * std::pow(std::erfc(-g / std::sqrt(2.0)) / 2, n - 2);
        });
    for (const double x : {1e8, 1e10, 1e14}) {
      const auto row = gaussian_row(n, x);
      INFO("n " << n << ", x " << x << ": " << x * row.entropy << " against " << ties * pi * pi / 6);
      CHECK(relative(x * row.entropy, ties * pi * pi / 6) < 1e-11 + 10 / x);
      CHECK(relative(x * row.trace, ties) < 1e-11 + 10 / x);  // int 2 p (1 - p)
      CHECK_FALSE(relative(x * row.entropy, 1.001 * ties * pi * pi / 6) < 1e-11 + 10 / x);
    }
  }
}

TEST_CASE("a row of normal scores refuses what is no row", "[laws]") {
  CHECK(refuses([] { gaussian_row(0.0, 1.0); }, {"gaussian_row", "row_length", "value = 0", "at least 1"}));
  CHECK(refuses([] { gaussian_row(2.5, 1.0); }, {"row_length", "not whole", "2.5"}));
  CHECK(refuses([] { gaussian_row(5.0, -0.5); }, {"score_stddev", "-0.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { gaussian_row(x, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { gaussian_row(5.0, x); }, {"score_stddev"}));
  }
}

TEST_CASE("a row as long as the scalar's range allows is right, and a longer one is refused", "[laws]") {
  for (const double n : {1e16, 1e20, 1e40, 1e60, 3e72}) {
    for (const double x : {0.0, 0.5, 1.0, 3.0}) {
      const double fast = std::exp(x * x);
      // annealed averages are exact to a relative e^(4 x^2) / n
      if (std::exp(4 * x * x) / n > 1e-13) continue;
      const auto row = gaussian_row(n, x);
      INFO("n = " << n << ", x = " << x);
      CHECK(std::abs(row.ipr * n / fast - 1) <= 1e-11);
      CHECK(std::abs(row.cubed_weights * n * n / std::pow(fast, 3) - 1) <= 1e-11);
      CHECK(std::abs(row.trace - 1) <= 1e-11);
      CHECK(std::abs(row.squared_trace - 1) <= 1e-11);
      CHECK(std::abs(row.log_partition - std::log(n) - x * x / 2) <= 1e-11 * std::log(n));
      CHECK(std::abs(row.entropy - (std::log(n) - x * x / 2)) <= 1e-11 * std::log(n));
      CHECK(std::abs(row.mean_score - x) <= 1e-11);
    }
  }
  for (const double n : {4e72, 1e75, 1e85, 1e100, 1e154, 1e300}) {
    CHECK(refuses([n] { gaussian_row(n, 1.0); }, {"gaussian_row", "row_length", "too large", "3.5"}));
    CHECK(refuses([n] { normsoftmax_gradient_sizes(n, 8); }, {"row_length", "too large"}));
  }
  CHECK(refuses([] { gaussian_row(3e7f, 1.0f); }, {"row_length", "too large"}));  // a float has a shorter range
}

}  // namespace incontext::testing
