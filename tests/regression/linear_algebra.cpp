#include "incontext/regression/linear_algebra.hpp"

#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::regression;

TEST_CASE("trace_of_product is the trace of the product") {
  incontext::testing::RegressionCases cases(1);
  for (const auto& [a, b] : {std::pair<Eigen::Index, Eigen::Index>{1, 1}, {2, 5}, {7, 3}}) {
    const Matrix<double> left = cases.matrix(a, b);
    const Matrix<double> right = cases.matrix(b, a);
    const double scale = left.cwiseAbs().cwiseProduct(right.cwiseAbs().transpose()).sum();
    const double bound = static_cast<double>(a * b) * std::numeric_limits<double>::epsilon() * scale;
    CHECK(std::abs(trace_of_product<double>(left, right) - (left * right).trace()) <= bound);
    CHECK(std::abs(trace_of_product<double>(left, right) - trace_of_product<double>(right, left)) <= bound);
  }
}

TEST_CASE("trace_of_product is not the sum of equal entries' products") {
  Matrix<double> left(2, 2), right(2, 2);
  left << 1, 2, 3, 4;
  right << 5, 6, 7, 8;
  CHECK(trace_of_product<double>(left, right) == 1 * 5 + 2 * 7 + 3 * 6 + 4 * 8);
}
