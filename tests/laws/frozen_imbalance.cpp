#include "incontext/laws/frozen_imbalance.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>

#include "incontext/laws/gaussian_asymptotics.hpp"
#include "laws/refusal.hpp"
#include "support/catch.hpp"

// The comparison with simulated rows of tokens is in tests/simulate/gradients/gradient_norms.cpp.
namespace incontext::testing {

using namespace laws;

namespace {

/// P(c |N| U^(1/m) <= 1) by an integral over U.
double share_below(double m, double c) {
  double sum = 0;
  constexpr int panels = 400;
  for (int i = 0; i < panels; ++i) {
    const auto f = [&](double u) { return std::erf(1 / (c * std::pow(u, 1 / m)) / std::sqrt(2.0)); };
    // erf rises where u is of the order of c^-m
    sum += boost::math::quadrature::gauss<double, 15>::integrate(f, double(i) / panels, double(i + 1) / panels);
  }
  return sum;
}

}  // namespace

TEST_CASE("the quantile of a frozen imbalance is that of a ratio of two weights times a normal", "[laws]") {
  for (const double n : {64.0, 1e4, 1e9}) {
    for (const double share : {0.2, 0.5}) {
      const double score_stddev = 40 * critical_score_stddev(n), d = 24, m = frozen_row(n, score_stddev).index;
      const double height = frozen_row(n, score_stddev).quantile + 0.57721566490153286 / (m * score_stddev);
      const double lengths = 2 * (d - 1) / std::sqrt(d * (d - 1 + height * height));
      const double found = frozen_imbalance_quantile(FrozenLayer<double>{n, score_stddev, d}, share);
      INFO("n " << n << ", share " << share << ": " << found);
      CHECK(std::abs(share_below(m, score_stddev * lengths / found) - share) < 1e-5);
      CHECK_FALSE(std::abs(share_below(m, score_stddev * lengths / (1.1 * found)) - share) < 1e-5);
    }
  }
}

TEST_CASE("the frozen median falls exponentially in x, at log 2 over the hazard", "[laws]") {
  const double n = 1e4, h = frozen_row(n, 1e3).index * 1e3;
  const double fall = std::log(frozen_imbalance_quantile(FrozenLayer<double>{n, 2e3, 16.0}) /
                               frozen_imbalance_quantile(FrozenLayer<double>{n, 1e3, 16.0}) / 2);
  CHECK(std::abs(fall / (-1e3 * std::log(2.0) / h) - 1) < 1e-4);
  CHECK_FALSE(std::abs(fall / (-1e3 * std::log(2.0) / critical_score_stddev(n)) - 1) < 0.05);
  CHECK(frozen_imbalance_quantile(FrozenLayer<double>{n, 1e3, 1.0}) == 0);  // |2 (d - 1)|: no other component
  using L = long double;
  const double precise = static_cast<double>(frozen_imbalance_quantile(FrozenLayer<L>{L(n), L(300), L(16)}));
  CHECK(std::abs(frozen_imbalance_quantile(FrozenLayer<double>{n, 300.0, 16.0}) / precise - 1) < 1e-12);
}

TEST_CASE("the frozen imbalance refuses what is not frozen", "[laws]") {
  CHECK(refuses(
      [] {
        frozen_imbalance_quantile(FrozenLayer<double>{64.0, 2.0, 16.0});
      },
      {"frozen_row", "score_stddev", "2", "n phi(b)"}));
  CHECK(refuses(
      [] {
        frozen_imbalance_quantile(FrozenLayer<double>{1.0, 30.0, 16.0});
      },
      {"row_length", "value = 1", "at least 2"}));
  CHECK(refuses([] { frozen_imbalance_quantile(FrozenLayer<double>{64.0, 30.0, 0.0}); }, {"dimension", "value = 0"}));
  CHECK(refuses([] { frozen_imbalance_quantile(FrozenLayer<double>{64, 30, 16}, 1.0); }, {"share", "1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { frozen_imbalance_quantile(FrozenLayer<double>{x, 30.0, 16.0}); }, {"row_length"}));
    CHECK(refuses([x] { frozen_imbalance_quantile(FrozenLayer<double>{64.0, x, 16.0}); }, {"score_stddev"}));
    CHECK(refuses([x] { frozen_imbalance_quantile(FrozenLayer<double>{64.0, 30.0, x}); }, {"dimension"}));
  }
}

}  // namespace incontext::testing
