#include "incontext/laws/detail/score_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "incontext/laws/detail/lattice_row.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "laws/functionals.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;
using laws::detail::ScoreLattice;

namespace {

/// (1 / Gamma(k)) int ds e^(k s - e^s Z) / Z^-k by the rule, the worst of its phases; without the rule's error it is 1.
double worst_of_rule(int order, double step) {
  double worst = 0;
  for (int phase = 0; phase < 16; ++phase) {
    double sum = 0;
    for (int i = -1000; i <= 1000; ++i) {
      const double s = (i + phase / 16.0) * step;
      sum += std::exp(order * s - std::exp(s));
    }
    worst = std::max(worst, std::abs(sum * step / std::tgamma(order) - 1));
  }
  return worst;
}

struct Averages {
  double log_psi = 0, first = 0, second = 0, fourth = 0;
};

Averages on_lattice(const ScoreLattice<double>& lattice) {
  Averages sums;
  sums.log_psi = lattice([&](double, double weight, const auto& kernel) {
    const double once = weight * kernel.t * kernel.survives;
    sums.first += once;
    sums.second += once * kernel.t;
    sums.fourth += once * kernel.t * kernel.t * kernel.t;
  });
  return sums;
}

/// The same by the trapezoidal rule in g with far more nodes.
Averages by_definition(double x, double s) {
  Averages sums;
  double dies = 0, survives = 0;
  const double step = 0.02 / std::max(1.0, x);
  const int last = static_cast<int>(45 / step);
  for (int i = -last; i <= last; ++i) {
    const double g = i * step, t = std::exp(std::min(s + x * g, 500.0));
    const double weight = step * std::exp(-g * g / 2) / 2.5066282746310002, once = weight * t * std::exp(-t);
    dies -= weight * std::expm1(-t);
    survives += weight * std::exp(-t);
    sums.first += once;
    sums.second += once * t;
    sums.fourth += once * t * t * t;
  }
  sums.log_psi = dies < 0.5 ? std::log1p(-dies) : std::log(survives);
  return sums;
}

}  // namespace

TEST_CASE("the step in s is as long as rounding allows, and no longer", "[laws]") {
  for (const int order : {1, 2, 3, 4}) {
    const double step = laws::detail::row_step<double>(order);
    INFO("order " << order << ", step " << step);
    CHECK(worst_of_rule(order, step) <= 8 * std::numeric_limits<double>::epsilon());
    CHECK(worst_of_rule(order, 1.5 * step) > 1e-13);
  }
}

TEST_CASE("averages over a lattice of scores agree with their definitions at every s of it", "[laws]") {
  for (const double x : {0.0, 1e-9, 0.02, 0.03, 0.2, 0.31, 1.0, 3.0, 8.0, 15.0}) {
    const double start = -20 - x * x;
    const double lowest_y = std::min(-45.0, start - 9 * x);
    ScoreLattice<double> lattice(x, laws::detail::row_step<double>(4), start, {-9 - x, 9 + 4 * x}, lowest_y);
    for (int i = 0; lattice.offset() < 20 + x * x + 3; ++i, lattice.advance()) {
      if (i % 7 != 0) continue;
      const auto found = on_lattice(lattice), exact = by_definition(x, lattice.s());
      INFO("x " << x << ", s " << lattice.s() << ", step " << lattice.step());
      CHECK(relative(found.log_psi, exact.log_psi) < 1e-12);
      CHECK(relative(found.first, exact.first) < 1e-12);
      CHECK(relative(found.second, exact.second) < 1e-12);
      CHECK(relative(found.fourth, exact.fourth) < 1e-12);
    }
  }
}

TEST_CASE("a row on a lattice has the functionals of the row by halving", "[laws]") {
  for (const double n : {2.0, 3.0, 5.0, 40.0, 1e4, 1e12, 1e40}) {
    for (const double x : {0.0, 1e-7, 0.04, 0.3, 1.0, 2.5, 4.0, 6.0, 8.0, 10.0}) {
      const auto lattice = values(laws::detail::RowFunctionals(laws::detail::LatticeRow<double>(n, x), x).all());
      const auto halved = values(laws::detail::RowFunctionals(laws::detail::normal_row(n, x), x).all());
      for (std::size_t i = 0; i < functionals; ++i) {
        INFO("n " << n << ", x " << x << ", functional " << i << ": " << lattice[i] << " against " << halved[i]);
        CHECK(relative(lattice[i], halved[i]) < 2e-13);
      }
    }
  }
}

TEST_CASE("moments of a row on a lattice are those of its functionals", "[laws]") {
  for (const double n : {2.0, 3.0, 4.0, 40.0, 1e6, 1e12}) {
    for (const double x : {0.0, 1e-7, 0.04, 0.3, 1.0, 2.5, 6.0, 12.0}) {
      const auto row = laws::detail::integrate_linear_row(n, x);
      const auto exact = laws::detail::RowFunctionals(laws::detail::normal_row(n, x), x).all();
      const double omega = exact.ipr + 6 * exact.cubed_weights - 6 * exact.squared_ipr;
      INFO("n " << n << ", x " << x);
      CHECK(relative(row.ipr, exact.ipr) < 2e-13);
      CHECK(std::abs(row.mean_score - exact.mean_score) <= 2e-13 * exact.mean_score);
      CHECK(relative(row.mean_square_score, exact.squared_mean_score) < 1e-12);
      CHECK(relative(row.lost_square, omega) < 1e-11);
      CHECK(row.error_estimate < 1e-14);
    }
  }
}

TEST_CASE("a row beside one more token has the moments of panels of scores", "[laws]") {
  using Panels = laws::detail::SampledScores<double>;
  const auto phi = scoring::Softmax<double>{1.0}.elementwise(2);
  for (const double n : {2.0, 40.0, 1e6}) {
    for (const double x : {1e-3, 0.3, 2.0, 6.0}) {
      const auto panels = Panels::panels(phi, x, n, 0.75);
      for (const double exponent : {-60.0, -1.0, 8.0, 25.0, 300.0}) {
        const auto row = laws::detail::integrate_linear_needle_row(n, x, exponent);
        const auto exact = laws::detail::integrate_needle_row(panels, n, exponent, std::min(-std::log(n), -exponent));
        INFO("n " << n << ", x " << x << ", exponent " << exponent);
        CHECK(std::abs(row.ipr - exact.ipr) < 1e-13);
        CHECK(std::abs(row.mean_score - exact.mean_score) < 1e-13);
        CHECK(std::abs(row.mean_square_score - exact.mean_square_score) < 2e-13);
        CHECK(row.error_estimate < 1e-14);
      }
    }
  }
}

TEST_CASE("a needle on a lattice has the weight found by halving", "[laws]") {
  for (const double n : {1.0, 2.0, 30.0, 1e6, 1e100}) {
    for (const double x : {0.0, 1e-7, 0.04, 0.3, 1.0, 4.0, 8.0}) {
      for (const double share : {-20.0, -2.0, 0.0, 1.0, 2.0, 6.0}) {
        const double gap = share * (std::log(n) / 4 + x + 1);
        const laws::detail::NormalScores<double> scores(x);
        const double start = laws::detail::needle_start(n, x, gap);
        const double needle = laws::detail::needle_integral<double>("needle", scores, n, gap, start).value;
        const double noise = laws::detail::noise_integral<double>("noise", scores, n, gap).value;
        INFO("n " << n << ", x " << x << ", gap " << gap << ": " << needle << " " << noise);
        CHECK(relative(needle_weight(n, x, gap).value, needle) < 2e-13);
        CHECK(relative(noise_weight(n, x, gap).value, noise) < 2e-13);
      }
    }
  }
}

TEST_CASE("shares of a needle are right at any gap", "[laws]") {
  for (const double n : {1.0, 1e3, 1e300}) {
    for (const double x : {0.0, 1e-12, 1.0, 8.0}) {
      for (const double gap : {-1e300, -1e5, 1e5, 1e300}) {
        INFO("n " << n << ", x " << x << ", gap " << gap);
        CHECK(std::abs(needle_weight(n, x, gap).value - (gap > 0 ? 1 : 0)) < 1e-14);
        CHECK(std::abs(noise_weight(n, x, gap).value - (gap > 0 ? 0 : 1)) < 1e-14);
      }
    }
  }
}

}  // namespace incontext::testing
