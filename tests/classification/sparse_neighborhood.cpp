#include "incontext/classification/sparse_neighborhood.hpp"

#include <boost/math/quadrature/tanh_sinh.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "classification/sphere.hpp"
#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("the Poisson neighborhood is that of drawn points", "[classification]") {
  std::mt19937_64 engine(73);
  std::exponential_distribution<double> gap;
  const double lambda = 1.7;
  SampleMean self, ipr;
  for (int trial = 0; trial < 50'000; ++trial) {
    double sum = 0, squares = 0;
    for (double s = gap(engine) / lambda; s < 40; s += gap(engine) / lambda) {
      sum += std::exp(-s);
      squares += std::exp(-2 * s);
    }
    self.add(1 / (1 + sum));
    ipr.add(squares / (sum * sum));
  }
  CHECK(std::abs(self.z(sparse_neighborhood(lambda).self_weight)) <= 5);
  CHECK(std::abs(ipr.z(sparse_neighborhood(lambda).ipr)) <= 5);
  CHECK(std::abs(self.z(sparse_neighborhood(lambda * 1.05).self_weight)) > 5);
  CHECK(std::abs(ipr.z(sparse_neighborhood(lambda * 1.05).ipr)) > 5);
}

TEST_CASE("the Poisson neighborhood meets its limits and long contexts meet it", "[classification]") {
  const double gamma = 0.57721566490153286;
  CHECK(std::abs(sparse_neighborhood(1.0).self_weight - std::exp(-gamma)) <= 1e-14);
  for (const double lambda : {1.0, 2.0, 50.0, 1e4}) {
    const auto law = sparse_neighborhood(lambda);
    CHECK(std::abs(law.ipr - (1 - lambda * law.self_weight)) <= 1e-12);
  }
  CHECK(std::abs(sparse_neighborhood(1e8).ipr * 2e8 - 1) <= 1e-6);
  CHECK(std::abs(sparse_neighborhood(1e-9).self_weight - 1) <= 1e-8);
  CHECK(sparse_neighborhood(0.0).ipr == 1);
  const auto law = sparse_neighborhood(0.5);
  const auto context = inverse_partition_function(3, 2e4, 20'000, QueryToken::included);
  CHECK(std::abs(context.mean / law.self_weight - 1) <= 1e-3);
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(std::abs(sparse_neighborhood(3.0f).self_weight / sparse_neighborhood(3.0).self_weight - 1) <= 64 * eps);
  CHECK_THROWS_AS(sparse_neighborhood(-0.1), std::domain_error);
  CHECK(names(message_of([] { sparse_neighborhood(std::nan("")); }), "sparse_neighborhood", "lambda"));
}

namespace {

/// Psi and t Psi' by their power series in t, in long double: for t up to about 10.
struct PsiSeries {
  long double value = 0, slope = 0;
  PsiSeries(long double q, long double t) {
    long double power = -std::tgamma(q + 1);
    for (int m = 1; m < 120; ++m) {
      power *= -t / m;
      const long double term = power / std::pow(static_cast<long double>(m), q);
      value += term;
      slope += term * m;
    }
  }
};

/// The definition's other form, 1 - lambda^2 int t Psi'^2 e^(-lambda Psi), and int e^(-t - lambda Psi).
SparseNeighborhood<double> by_series(int dimension, double lambda) {
  boost::math::quadrature::tanh_sinh<long double> rule(12);
  const long double q = (dimension - 1) / 2.0L;
  const auto integral = [&](const auto& f) { return rule.integrate(f, 0.0L, 10.0L); };
  const long double self = integral([&](long double t) { return std::exp(-t - lambda * PsiSeries(q, t).value); });
  const long double rest = integral([&](long double t) {
    const PsiSeries psi(q, t);
    return t > 0 ? psi.slope * psi.slope / t * std::exp(-lambda * psi.value) : 0;
  });
  return {static_cast<double>(self), static_cast<double>(1 - lambda * lambda * rest)};
}

}  // namespace

TEST_CASE("the Poisson neighborhood in any dimension is the one in three", "[classification]") {
  for (const double lambda : {1e-9, 1e-3, 0.3, 1.0, 7.0, 1e4, 1e9}) {
    const auto three = sparse_neighborhood(lambda), any = sparse_neighborhood(std::int64_t{3}, lambda);
    CHECK(std::abs(any.self_weight / three.self_weight - 1) <= 1e-12);
    CHECK(std::abs(any.ipr / three.ipr - 1) <= 1e-12);
  }
  const float eps = std::numeric_limits<float>::epsilon();
  CHECK(std::abs(sparse_neighborhood(5, 0.7f).ipr / sparse_neighborhood(5, 0.7).ipr - 1) <= 64 * eps);
}

TEST_CASE("the Poisson neighborhood in any dimension is its defining integral", "[classification]") {
  struct Case {
    int dimension;
    double lambda;
  };
  for (const Case at : {Case{2, 40.0}, {2, 300.0}, {4, 20.0}, {5, 20.0}, {10, 2.0}, {25, 1e-5}}) {
    const auto law = sparse_neighborhood(at.dimension, at.lambda), series = by_series(at.dimension, at.lambda);
    INFO("d = " << at.dimension << ", lambda = " << at.lambda);
    CHECK(std::abs(law.self_weight / series.self_weight - 1) <= 1e-11);
    CHECK(std::abs(law.ipr - series.ipr) <= 1e-11 * law.ipr + 1e-15);
    const auto next = sparse_neighborhood(at.dimension + 1, at.lambda);
    CHECK(std::abs(next.ipr / series.ipr - 1) > 1e-3);
  }
}

TEST_CASE("the Poisson neighborhood in any dimension is that of drawn points", "[classification]") {
  struct Case {
    int dimension;
    double lambda, reach;
    int trials;
  };
  std::mt19937_64 engine(74);
  std::exponential_distribution<double> gap;
  for (const Case at : {Case{2, 1.0, 40, 40'000}, {5, 0.5, 25, 10'000}, {10, 0.02, 20, 1500}}) {
    const double q = (at.dimension - 1) / 2.0;
    SampleMean self, ipr;
    for (int trial = 0; trial < at.trials; ++trial) {
      double sum = 0, squares = 0, arrival = gap(engine);
      for (double s = 0; s < at.reach || sum == 0; arrival += gap(engine)) {
        s = std::pow(arrival / at.lambda, 1 / q);
        sum += std::exp(-s);
        squares += std::exp(-2 * s);
      }
      self.add(1 / (1 + sum));
      ipr.add(squares / (sum * sum));
    }
    const auto law = sparse_neighborhood(at.dimension, at.lambda);
    INFO("d = " << at.dimension);
    CHECK(std::abs(self.z(law.self_weight)) <= 5);
    CHECK(std::abs(ipr.z(law.ipr)) <= 5);
    const auto off = sparse_neighborhood(at.dimension, at.lambda * 1.25);
    CHECK(std::abs(self.z(off.self_weight)) > 5);
    CHECK(std::abs(ipr.z(off.ipr)) > 5);
  }
}

TEST_CASE("the Poisson neighborhood in any dimension meets its limits and long contexts meet it", "[classification]") {
  for (const int d : {2, 4, 5, 20, 100}) {
    const double q = (d - 1) / 2.0, log_gamma = std::lgamma(q + 1);
    const auto crowded = sparse_neighborhood(d, std::exp(15 * std::log(10.0) - log_gamma));
    CHECK(std::abs(crowded.self_weight * 1e15 - 1) <= 1e-10);
    CHECK(std::abs(crowded.ipr * 1e15 * std::exp2(q) - 1) <= 1e-10);
    const auto alone = sparse_neighborhood(d, 0.0);
    CHECK(alone.self_weight == 1);
    CHECK(alone.ipr == 1);
    if (d == 2 || d == 100) continue;
    // two points share: 1 - inverse participation ratio in proportion to lambda^(1/q)
    const double share = 1e-5, lambda = std::pow(share / (q * std::tgamma(2 - 1 / q)), q);
    CHECK(std::abs((1 - sparse_neighborhood(d, lambda).ipr) / share - 1) <= 1e-2);
  }
  CHECK(sparse_neighborhood(2, 1e-300).ipr == 1);
  const auto law = sparse_neighborhood(4, 0.5);
  const double kappa = 2e3;
  const auto n = static_cast<std::int64_t>(0.5 * std::pow(kappa, 1.5) / sphere_constants<double>(4).cap);
  const auto context = inverse_partition_function(4, kappa, n, QueryToken::included);
  CHECK(std::abs(context.mean / law.self_weight - 1) <= 2e-3);
  CHECK(names(message_of([] { sparse_neighborhood(1, 0.5); }), "sparse_neighborhood", "dimension", "value = 1"));
  CHECK(names(message_of([] { sparse_neighborhood(4, -1.0); }), "lambda", "value = -1"));
}

}  // namespace incontext::testing
