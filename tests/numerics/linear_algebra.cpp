#include "incontext/numerics/linear_algebra.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::numerics;

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

TEST_CASE("product is the sum over the inner index, for every shape") {
  incontext::testing::RegressionCases cases(2);
  for (const auto& [a, b, c] : {std::array<Eigen::Index, 3>{1, 1, 1}, {2, 5, 3}, {40, 31, 17}}) {
    const Matrix<double> left = cases.matrix(a, b);
    const Matrix<double> right = cases.matrix(b, c);
    const Matrix<double> result = product<double>(left, right);
    REQUIRE(result.rows() == a);
    REQUIRE(result.cols() == c);
    for (Eigen::Index i = 0; i < a; ++i) {
      for (Eigen::Index k = 0; k < c; ++k) {
        double sum = 0, size = 0;
        for (Eigen::Index j = 0; j < b; ++j) {
          sum += left(i, j) * right(j, k);
          size += std::abs(left(i, j) * right(j, k));
        }
        CHECK(std::abs(result(i, k) - sum) <=
              2 * static_cast<double>(b) * std::numeric_limits<double>::epsilon() * size);
      }
    }
  }
}

TEST_CASE("trace_of_product is not the sum of equal entries' products") {
  Matrix<double> left(2, 2), right(2, 2);
  left << 1, 2, 3, 4;
  right << 5, 6, 7, 8;
  CHECK(trace_of_product<double>(left, right) == 1 * 5 + 2 * 7 + 3 * 6 + 4 * 8);
}
