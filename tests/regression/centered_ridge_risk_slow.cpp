#include "incontext/regression/centered_ridge_risk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("the Bayes risks in float and long double are those in double", "", float, long double) {
  using T = TestType;
  const double eps =
      std::max(std::numeric_limits<double>::epsilon(), static_cast<double>(std::numeric_limits<T>::epsilon()));
  for (const Eigen::Index d : {1, 3, 8}) {
    RegressionCases cases(static_cast<std::uint64_t>(210 + d));
    for (const double noise : {0.0, 0x1p-20, 0.25, 64.0}) {
      const auto task = cases.task(d, noise);
      const IsotropicTask<double> law{
          .dimension = d, .input_variance = 0.75, .task_variance = 1.5, .noise_variance = noise};
      const IsotropicTask<T> law_t{
          .dimension = d, .input_variance = T(0.75), .task_variance = T(1.5), .noise_variance = T(noise)};
      for (const std::int64_t l : {2, 4, 9, 10, 1000}) {
        const auto expected = centered_ridge_risk_equivalent(task, l);
        const auto value = centered_ridge_risk_equivalent(as<T>(task), l);
        CHECK(std::abs(static_cast<double>(value.risk) - expected.risk) <= 120.0 * eps * expected.risk);
        CHECK(std::abs(static_cast<double>(value.mean_excess) - expected.mean_excess) <=
              240.0 * eps * expected.mean_excess);
        const double limit = centered_ridge_risk_isotropic_limit(law, l);
        CHECK(std::abs(static_cast<double>(centered_ridge_risk_isotropic_limit(law_t, l)) - limit) <=
              20.0 * eps * limit);
      }
    }
  }
}
