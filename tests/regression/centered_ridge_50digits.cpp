// The posterior in double against 50 digits (float and long double against double in centered_ridge_slow.cpp); the
// limit without noise at 50 digits.

#include "incontext/regression/centered_ridge.hpp"

#include <algorithm>

#include "incontext/regression/posterior.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

struct Context {
  Matrix<double> inputs;
  Vector<double> labels;
  Vector<double> task_mean;
  Matrix<double> task_covariance;
};

Context context(Eigen::Index l, Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(200 + 10 * l + d));
  return {cases.matrix(l, d), cases.vector(l), cases.vector(d), cases.covariance(d)};
}

template <incontext::Real T>
RidgePosterior<T> centered(const Context& c, const T& noise) {
  return centered_ridge(as<T>(c.inputs), as<T>(c.labels), as<T>(c.task_mean), as<T>(c.task_covariance), noise);
}

template <incontext::Real T>
RidgePosterior<T> whole(const Context& c, const T& noise) {
  return posterior(as<T>(c.inputs), as<T>(c.labels), as<T>(c.task_mean), as<T>(c.task_covariance), noise);
}

}  // namespace

TEST_CASE("the posterior rounds as stated, of the centered context and of all of it") {
  using T = double;
  const bool is_centered = GENERATE(true, false);
  const auto posterior = [&](const Context& c, const auto& noise) {
    return is_centered ? centered(c, noise) : whole(c, noise);
  };
  Worst worst_mean, worst_covariance;
  for (const auto& [l, d] : {std::pair{2, 1}, {12, 3}, {20, 6}, {3, 6}, {2, 8}}) {
    const Context c = context(l, d);
    for (const double noise : {0.0, 0x1p-30, 0x1p-10, 0.25, 64.0}) {
      const auto exact = posterior(c, Real50(noise));
      const auto rounded = posterior(c, T(noise));
      worst_mean.add(eps_off<T>(rounded.mean, exact.mean, exact.mean.norm()), "noise ", noise);
      worst_covariance.add(eps_off<T>(rounded.covariance, exact.covariance, as<Real50>(c.task_covariance).norm()),
                           "noise ", noise);
    }
  }
  CHECK(worst_mean <= 40.0);
  CHECK(worst_covariance <= 8.0);
  CHECK(worst_mean > 0.0);
}

TEST_CASE("without noise the posterior is the limit of small noise, at 50 digits") {
  for (const auto& [l, d] : {std::pair{2, 1}, {12, 3}, {4, 4}, {5, 4}, {3, 6}}) {
    const Context c = context(l, d);
    const auto limit = centered(c, Real50(0));
    // The distance to the limit is of the order of the noise: it falls with it, down to the last digits.
    for (const int exponent : {-10, -20, -30, -40}) {
      const Real50 noise = pow(Real50(10), exponent);
      const auto near = centered(c, noise);
      CHECK((near.mean - limit.mean).norm() <= Real50(1e6) * noise);
      CHECK((near.covariance - limit.covariance).norm() <= Real50(1e6) * noise);
    }
    // Power: it is no more than of that order.
    const auto near = centered(c, Real50(1e-10));
    CHECK((near.covariance - limit.covariance).norm() > Real50(1e-14));
  }
}

TEST_CASE("both factorizations at 50 digits give one posterior on either side of the choice") {
  for (const auto& [l, d] : {std::pair{9, 4}, {4, 9}}) {
    const Context c = context(l, d);
    const Matrix<Real50> z = as<Real50>(c.inputs).rowwise() - as<Real50>(c.inputs).colwise().mean();
    const Real50 scale = (z * as<Real50>(c.task_covariance) * z.transpose()).trace();
    const Real50 threshold = cbrt(Eigen::NumTraits<Real50>::epsilon()) * scale;
    const auto above = centered(c, Real50(threshold * (1 + Real50(1e-40))));
    const auto below = centered(c, Real50(threshold * (1 - Real50(1e-40))));
    CHECK((above.mean - below.mean).norm() <= Real50(1e-30) * above.mean.norm());
    CHECK((above.covariance - below.covariance).norm() <= Real50(1e-30) * above.covariance.norm());
  }
}
