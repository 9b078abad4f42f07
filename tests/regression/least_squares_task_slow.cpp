#include "incontext/regression/least_squares_task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("least squares in float and long double is that in double", "", float, long double) {
  using T = TestType;
  const double eps =
      std::max(std::numeric_limits<double>::epsilon(), static_cast<double>(std::numeric_limits<T>::epsilon()));
  RegressionCases cases(107);
  const Matrix<double> inputs = cases.matrix(30, 4);
  const Vector<double> labels = cases.vector(30);
  const auto expected = least_squares_task(inputs, labels);
  const auto fit = least_squares_task(as<T>(inputs), as<T>(labels));
  CHECK((fit.slope.template cast<double>() - expected.slope).norm() <= 40.0 * eps * expected.slope.norm());
  CHECK(std::abs(static_cast<double>(fit.intercept) - expected.intercept) <= 40.0 * eps);
  CHECK(std::abs(static_cast<double>(fit.residual_variance) - expected.residual_variance) <=
        20.0 * eps * expected.residual_variance);
}
