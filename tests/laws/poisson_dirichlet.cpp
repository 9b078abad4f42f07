#include "incontext/laws/poisson_dirichlet.hpp"

#include <algorithm>
#include <cmath>

#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// E sum f(a_j) by the law's mean measure, u^(-1-m) (1-u)^(m-1) / (Gamma(m) Gamma(1-m)), with u = 1 / (1 + e^-v).
template <class Function>
double by_mean_measure(double m, const Function& f) {
  double sum = 0;
  constexpr double step = 0.05;
  for (double v = -500; v <= 500; v += step) sum += f(logistic(v)) * std::exp(-m * v);
  return sum * step / (std::tgamma(m) * std::tgamma(1 - m));
}

}  // namespace

TEST_CASE("power sums and entropy are integrals over the mean measure", "[laws]") {
  for (const double m : {0.1, 0.3, 0.6, 0.9}) {
    for (const double power : {1.5, 2.0, 3.0, 6.5}) {
      const double integral = by_mean_measure(m, [&](double u) { return std::pow(u, power); });
      CHECK(relative(poisson_dirichlet_power_sum(m, power), integral) < 1e-12);
    }
    const double entropy = by_mean_measure(m, [](double u) { return u > 0 ? -u * std::log(u) : 0; });
    CHECK(relative(poisson_dirichlet_entropy(m), entropy) < 1e-12);
  }
}

TEST_CASE("weights of a Poisson process have the stated largest one", "[laws][statistics]") {
  // points E_1^(-1/m) > (E_1 + E_2)^(-1/m) > ..., normalized; |z| <= 5 in 3 comparisons: once in half a million tests
  for (const double m : {0.2, 0.35, 0.5}) {
    Random random(461);
    SampleMean largest, squares;
    for (int trial = 0; trial < 4000; ++trial) {
      double arrival = 0, sum = 0, first = 0, second = 0;
      for (int j = 0; j < 1500; ++j) {
        arrival -= std::log(random.uniform());
        const double point = std::pow(arrival, -1 / m);
        if (j == 0) first = point;
        sum += point;
        second += point * point;
      }
      sum += m / (1 - m) * std::pow(arrival, 1 - 1 / m);  // the mean of the points left out
      largest.add(first / sum);
      squares.add(second / (sum * sum));
    }
    CHECK(std::abs(largest.z(poisson_dirichlet_largest(m).value)) <= 5);
    CHECK(std::abs(squares.z(poisson_dirichlet_power_sum(m, 2.0))) <= 5);
    CHECK_FALSE(std::abs(largest.z(1.05 * poisson_dirichlet_largest(m).value)) <= 5);
  }
}

TEST_CASE("a long frozen row of normal scores tends to it", "[laws]") {
  for (const double theta : {1.5, 3.0}) {
    double before = 1;
    for (const double n : {1e4, 1e9, 1e15}) {
      const double x = theta * critical_score_stddev(n), limit = poisson_dirichlet_power_sum(1 / theta, 2.0);
      const double away = std::abs(gaussian_row(n, x).ipr - limit);
      CHECK(away < before);
      before = away;
    }
    CHECK(before < 0.04);
  }
  // at the finite row's own index, the largest weight too
  const double x = 3 * critical_score_stddev(1e12), index = frozen_row(1e12, x).index;
  CHECK(relative(largest_weight(1e12, x).value, poisson_dirichlet_largest(index).value) < 0.02);
}

TEST_CASE("the Poisson-Dirichlet law keeps its digits at both ends", "[laws]") {
  for (const double m : {1e-12, 1e-6, 0.01, 0.2499, 0.2501, 0.5, 0.9, 0.999999}) {
    using L = long double;
    const L exact = poisson_dirichlet_entropy(L(m));
    CHECK(eps_from(poisson_dirichlet_entropy(m), exact, exact) <= 64 * (1 + 1e-16 / (1 - m)));
    CHECK(relative(poisson_dirichlet_power_sum(m, 1.0), 1) < 1e-14);
    for (const double power : {2.0, 3.0, 10.0}) {
      const L sum = poisson_dirichlet_power_sum(L(m), L(power));
      CHECK(eps_from(poisson_dirichlet_power_sum(m, power), sum, sum) <= 64);
    }
    const double largest = poisson_dirichlet_largest(m).value;
    CHECK(relative(largest, static_cast<double>(poisson_dirichlet_largest(L(m)).value)) < 1e-11);
    CHECK(1 - m <= largest * (1 + 1e-12));
    CHECK(largest <= std::sqrt(1 - m) * (1 + 1e-12));
  }
  CHECK(relative(poisson_dirichlet_power_sum(0.3, 2.0), 0.7) < 1e-15);
}

TEST_CASE("the Poisson-Dirichlet law refuses other indices", "[laws]") {
  for (const double m : {0.0, 1.0, -0.5, 2.0, out_of_reach[0], out_of_reach[1]}) {
    CHECK(refuses([m] { poisson_dirichlet_power_sum(m, 2.0); }, {"index", "between 0 and 1"}));
    CHECK(refuses([m] { poisson_dirichlet_entropy(m); }, {"index"}));
    CHECK(refuses([m] { poisson_dirichlet_largest(m); }, {"index"}));
  }
  CHECK(refuses([] { poisson_dirichlet_power_sum(0.5, 0.5); }, {"power", "0.5"}));
  CHECK(refuses([] { poisson_dirichlet_power_sum(0.5, out_of_reach[0]); }, {"power"}));
}

}  // namespace incontext::testing
