#include "incontext/regression/centered_ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("the posterior in float and long double is that in double", "", float, long double) {
  using T = TestType;
  const double eps =
      std::max(std::numeric_limits<double>::epsilon(), static_cast<double>(std::numeric_limits<T>::epsilon()));
  for (const auto& [l, d] : {std::pair{2, 1}, {12, 3}, {20, 6}, {3, 6}, {2, 8}}) {
    RegressionCases cases(static_cast<std::uint64_t>(200 + 10 * l + d));
    const Matrix<double> inputs = cases.matrix(l, d);
    const Vector<double> labels = cases.vector(l);
    const Vector<double> mean = cases.vector(d);
    const Matrix<double> covariance = cases.covariance(d);
    for (const double noise : {0.0, 0x1p-30, 0x1p-10, 0.25, 64.0}) {
      const auto expected = centered_ridge(inputs, labels, mean, covariance, noise);
      const auto value = centered_ridge(as<T>(inputs), as<T>(labels), as<T>(mean), as<T>(covariance), T(noise));
      CHECK((value.mean.template cast<double>() - expected.mean).norm() <= 80.0 * eps * expected.mean.norm());
      CHECK((value.covariance.template cast<double>() - expected.covariance).norm() <= 16.0 * eps * covariance.norm());
    }
  }
}
