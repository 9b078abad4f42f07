// The Bayes risks in double against 50 digits; float and long double against double in centered_ridge_risk_slow.cpp.

#include "incontext/regression/centered_ridge_risk.hpp"

#include <algorithm>

#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

/// s2 (1 + gamma m) with the Stieltjes transform as it is usually printed, cancellations and all.
Real50 printed_limit(std::int64_t d, std::int64_t l, const Real50& a, const Real50& b, const Real50& noise) {
  const Real50 n = l - 1;
  const Real50 gamma = d / n;
  const Real50 lambda = noise / (n * a * b);
  const Real50 c = 1 - gamma + lambda;
  return noise * (1 + (sqrt(c * c + 4 * gamma * lambda) - c) / (2 * lambda));
}

}  // namespace

TEST_CASE("the isotropic limit rounds as stated, on both sides of d = n") {
  using T = double;
  Worst worst;
  for (const std::int64_t d : {1, 20, 64, 1000}) {
    for (const std::int64_t l : {2, 20, 21, 22, 65, 66, 1001, 100'000}) {
      for (const double noise : {0x1p-60, 0x1p-20, 0.125, 1.0, 1024.0}) {
        for (const double variance : {0x1p-10, 1.5}) {
          const IsotropicTask<T> task{
              .dimension = d, .input_variance = T(0.75), .task_variance = T(variance), .noise_variance = T(noise)};
          const Real50 exact = printed_limit(d, l, Real50(0.75), Real50(variance), Real50(noise));
          worst.add(eps_off(centered_ridge_risk_isotropic_limit(task, l), exact, exact), "d ", d, ", l ", l, ", noise ",
                    noise, ", variance ", variance);
        }
      }
    }
  }
  CHECK(worst <= 10.0);
  CHECK(worst > 0.0);
}

TEST_CASE("the deterministic equivalent rounds as stated") {
  using T = double;
  Worst worst, worst_excess;
  for (const Eigen::Index d : {1, 3, 8}) {
    RegressionCases cases(static_cast<std::uint64_t>(210 + d));
    for (const double noise : {0.0, 0x1p-30, 0.25, 64.0}) {
      const auto task = cases.task(d, noise);
      for (const std::int64_t l : {2, 4, 9, 10, 1000}) {
        const auto exact = centered_ridge_risk_equivalent(as<Real50>(task), l);
        const auto rounded = centered_ridge_risk_equivalent(as<T>(task), l);
        worst.add(eps_off(rounded.risk, exact.risk, exact.risk), "d ", d, ", noise ", noise, ", l ", l);
        worst_excess.add(eps_off(rounded.mean_excess, exact.mean_excess, exact.mean_excess), "d ", d, ", noise ", noise,
                         ", l ", l);
      }
    }
  }
  CHECK(worst <= 60.0);
  CHECK(worst_excess <= 120.0);
  CHECK(worst > 0.0);
}

TEST_CASE("the equivalent at 50 digits solves the equation as the derivation states it") {
  RegressionCases cases(220);
  for (const std::int64_t l : {2, 4, 5, 6, 100}) {
    const auto task = as<Real50>(cases.task(4, 0.25));
    const auto equivalent = centered_ridge_risk_equivalent(task, l);
    const Real50 n = l - 1;
    const Real50 lambda = Real50(0.25) / n;
    const Real50 kappa = equivalent.effective_ridge;
    // sum e / (e + kappa) = tr(S (S + kappa W^{-1})^{-1}), without the eigenvalues.
    const Matrix<Real50> identity = Matrix<Real50>::Identity(4, 4);
    const Matrix<Real50> prior_inverse = Eigen::LLT<Matrix<Real50>>(task.task_covariance()).solve(identity);
    const Matrix<Real50> shrunk =
        Eigen::LLT<Matrix<Real50>>(Matrix<Real50>(task.input_covariance() + kappa * prior_inverse)).solve(identity);
    const Real50 filtered = trace_of_product<Real50>(task.input_covariance(), shrunk);
    CHECK(abs(kappa - (lambda + kappa * filtered / n)) <= Real50(1e-44) * kappa);
    CHECK(abs(equivalent.risk - (Real50(0.25) + Real50(0.25) / n * (kappa / lambda) * filtered)) <=
          Real50(1e-44) * equivalent.risk);
    const Real50 excess = kappa * task.input_mean().dot(shrunk * task.input_mean());
    CHECK(abs(equivalent.mean_excess - excess) <= Real50(1e-44) * excess);
  }
}
