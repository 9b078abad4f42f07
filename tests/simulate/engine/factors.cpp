#include "incontext/simulate/engine/factors.hpp"

#include <cmath>
#include <vector>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "support/catch.hpp"

namespace factors_test {

namespace {

using namespace incontext;
using Matrix = regression::Matrix<double>;
using Vector = regression::Vector<double>;

/// A correlated covariance of four variables whose units differ by these factors.
Matrix in_units(const Vector& units) {
  const Matrix plain{{1, 0.5, 0.2, 0}, {0.5, 2, -0.3, 0.1}, {0.2, -0.3, 1, 0.4}, {0, 0.1, 0.4, 0.5}};
  return units.asDiagonal() * plain * units.asDiagonal();
}

}  // namespace

TEST_CASE("the factor of a covariance does not depend on the units of its variables", "[simulate]") {
  for (const double unit : {1.0, 1e3, 1e8, 1e50, 1e-8, 1e-100}) {
    CAPTURE(unit);
    const Vector units{{1, unit, 1 / unit, 3}};
    const Matrix factor = simulate::detail::plain_cholesky(in_units(units));
    const Matrix expected = units.asDiagonal() * simulate::detail::plain_cholesky(in_units(Vector::Ones(4)));
    for (Eigen::Index i = 0; i < 4; ++i) {
      for (Eigen::Index j = 0; j < 4; ++j) {
        CHECK(std::abs(factor(i, j) - expected(i, j)) <= 1e-13 * std::abs(expected(i, i)));
      }
    }
  }
}

TEST_CASE("a covariance of lower rank has a factor, in any units", "[simulate]") {
  for (const double unit : {1.0, 1e8}) {
    const Vector direction = Vector{{1, unit, -2, 0.5 * unit}};
    const Matrix covariance = direction * direction.transpose();
    const Matrix factor = simulate::detail::plain_cholesky(covariance);
    CHECK((factor.rightCols(3).array() == 0).all());
    CHECK((factor * factor.transpose() - covariance).cwiseAbs().maxCoeff() <= 1e-14 * unit * unit);
  }
}

TEST_CASE("inputs in units that differ by many orders of magnitude are all simulated", "[simulate]") {
  const Vector units{{1e8, 1, 1e-3}};
  const Matrix covariance = units.cwiseAbs2().asDiagonal();
  const Matrix task_covariance = (units.cwiseAbs2().cwiseInverse() / 3).asDiagonal();
  const auto in_three = regression::LinearTask<double>({.input_mean = Vector::Zero(3),
                                                        .input_covariance = covariance,
                                                        .task_mean = Vector::Zero(3),
                                                        .task_covariance = task_covariance,
                                                        .noise_variance = 0.1});
  const Matrix key_query = units.cwiseAbs2().cwiseInverse().asDiagonal();
  const regression::Attention<double> attention{key_query, Vector::Zero(3), 1.0};
  const double theory = regression::generalization_error(attention, in_three, 40)(1.5);
  const auto simulated = simulate::regression_error<double>(attention, in_three, 40, scoring::ApproximateSoftmax{1.5},
                                                            {.seed = 5, .trials = 1 << 15});
  CHECK(statistics::agree(theory, simulated).within(5));
  CHECK_FALSE(statistics::agree(0.8 * theory, simulated).within(5));  // without the small inputs it is smaller
}

}  // namespace factors_test
