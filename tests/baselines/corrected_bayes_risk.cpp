#include "incontext/baselines/corrected_bayes_risk.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>

#include "incontext/baselines/ridge_risk.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace baselines;

TEST_CASE("the corrected risk is within its bound, which is less than twice too wide, and the limit is often outside") {
  int limits_outside = 0;
  double closest = 0;
  for (const int d : {5, 10, 20, 40, 80}) {
    for (const double ratio : {0.3, 0.6, 0.8, 0.9, 1.0, 1.1, 1.25, 1.6, 3.0, 10.0}) {
      const int n = std::max(2, static_cast<int>(std::lround(d * ratio)));
      const WishartSpectrum<double> spectrum(n, d);
      for (const double noise : {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0}) {
        const double prior = 20.0 / d;
        const auto found = corrected_bayes_risk<double>(Eigen::VectorXd::Constant(d, prior), noise, n);
        const double exact = bayes_risk<double>(spectrum, {.noise_variance = noise, .task_variance = prior});
        CAPTURE(d, n, noise, exact, found.risk, found.error_bound);
        CHECK(std::abs(found.risk - exact) <= found.error_bound);
        closest = std::max(closest, std::abs(found.risk - exact) / found.error_bound);
        limits_outside += std::abs(found.limit - exact) <= found.error_bound ? 0 : 1;
      }
    }
  }
  CHECK(closest > 0.5);
  CHECK(limits_outside > 50);
}

TEST_CASE("a power law: drawn contexts reject the limit, and the correction where d = n = 10", "[statistics]") {
  // 2 comparisons at |z| <= 5
  struct Case {
    int dimension, examples;
    bool corrected_holds;
  };
  for (const Case& one : {Case{20, 30, true}, Case{10, 10, false}}) {
    const double noise = 0.1;
    Eigen::VectorXd eigenvalues(one.dimension);
    for (int i = 0; i < one.dimension; ++i) eigenvalues(i) = 1.0 / (i + 1);
    const Eigen::MatrixXd penalty = (noise * eigenvalues.cwiseInverse()).asDiagonal();
    std::mt19937_64 engine(773);
    std::normal_distribution<double> normal;
    SampleMean risk;
    for (int trial = 0; trial < 40'000; ++trial) {
      const Eigen::MatrixXd g = Eigen::MatrixXd::NullaryExpr(
          one.examples, one.dimension, [&](Eigen::Index, Eigen::Index) { return normal(engine); });
      const Eigen::MatrixXd precision = g.transpose() * g + penalty;
      const Eigen::MatrixXd inverse = precision.llt().solve(Eigen::MatrixXd::Identity(one.dimension, one.dimension));
      risk.add(noise * (1 + inverse.trace()));
    }
    const auto found = corrected_bayes_risk<double>(eigenvalues, noise, one.examples);
    CAPTURE(one.dimension, risk.mean(), risk.standard_error(), found.risk, found.limit, found.error_bound);
    CHECK((std::abs(risk.z(found.risk)) <= 5) == one.corrected_holds);
    CHECK(std::abs(risk.mean() - found.risk) <= found.error_bound + 5 * risk.standard_error());
    CHECK_FALSE(std::abs(risk.z(found.limit)) <= 5);
  }
}

TEST_CASE("bad arguments of the corrected risk are refused by name") {
  const Eigen::VectorXd two = Eigen::VectorXd::Ones(2), none(0), bad = Eigen::Vector2d(1, -3);
  CHECK(refuses<std::domain_error>([&] { corrected_bayes_risk<double>(two, 0.0, 3); }, {"noise_variance"}));
  CHECK(refuses<std::domain_error>([&] { corrected_bayes_risk<double>(bad, 0.1, 3); }, {"eigenvalues[1]", "-3"}));
  CHECK(refuses<std::invalid_argument>([&] { corrected_bayes_risk<double>(two, 0.1, 0); }, {"examples"}));
  CHECK(refuses<std::invalid_argument>([&] { corrected_bayes_risk<double>(none, 0.1, 3); }, {"eigenvalues.size()"}));
}

}  // namespace incontext::testing
