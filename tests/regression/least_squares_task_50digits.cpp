// Least squares in double against 50 digits; float and long double against double in least_squares_task_slow.cpp.

#include "incontext/regression/least_squares_task.hpp"

#include <algorithm>

#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("rounding of least squares, means and units of any size") {
  using T = double;
  Worst worst_slope, worst_residual;
  for (const Eigen::Index d : {1, 3, 6}) {
    RegressionCases cases(static_cast<std::uint64_t>(230 + d));
    for (const Eigen::Index n : {Eigen::Index{30}, Eigen::Index{100}}) {
      Matrix<double> inputs = cases.matrix(n, d);
      const Vector<double> labels = cases.vector(n);
      inputs.col(0) *= 0x1p20;
      inputs.col(d - 1).array() += 16.0;
      const auto exact = least_squares_task(as<Real50>(inputs), as<Real50>(labels));
      const auto rounded = least_squares_task(as<T>(inputs), as<T>(labels));
      for (Eigen::Index i = 0; i < d; ++i) {
        // In units of the column's own standard deviation: a slope times it is a label.
        const Real50 unit = as<Real50>(labels).norm() / as<Real50>(inputs).col(i).norm();
        worst_slope.add(eps_off(rounded.slope(i), exact.slope(i), unit), "d ", d, ", n ", n, ", i ", i);
      }
      worst_residual.add(eps_off(rounded.residual_variance, exact.residual_variance, exact.residual_variance), "d ", d,
                         ", n ", n);
    }
  }
  CHECK(worst_slope <= 40.0);
  CHECK(worst_residual <= 8.0);
  CHECK(worst_slope > 0.0);
}
