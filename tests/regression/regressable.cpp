#include "incontext/regression/regressable.hpp"

#include <cmath>
#include <limits>

#include "incontext/regression/least_squares_task.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

const std::vector<std::string> column_names{"age", "mass", "height", "sum"};

Naming refused(const Matrix<double>& inputs, std::initializer_list<std::string_view> fragments,
               const std::vector<std::string>& columns = column_names) {
  return refuses<std::logic_error>([&] { require_regressable(inputs, columns); }, fragments);
}

}  // namespace

TEST_CASE("a table on which regression is determined passes") {
  RegressionCases cases(101);
  CHECK_NOTHROW(require_regressable(cases.matrix(5, 4)));
  CHECK_NOTHROW(require_regressable(cases.matrix(5, 4), column_names));
  // Units do not matter, nor a mean far away, nor a strong correlation.
  Matrix<double> inputs = cases.matrix(30, 4);
  inputs.col(0) *= 1e12;
  inputs.col(1) *= 1e-12;
  inputs.col(2).array() += 1e6;
  CHECK_NOTHROW(require_regressable(inputs, column_names));
  inputs.col(3) = inputs.col(2) + 1e-6 * cases.vector(30);
  CHECK_NOTHROW(require_regressable(inputs, column_names));
}

TEST_CASE("too few rows, entries that are not finite, and columns without spread are named") {
  RegressionCases cases(102);
  CHECK_THROWS_AS(require_regressable(cases.matrix(4, 4)), std::invalid_argument);
  CHECK(refused(cases.matrix(4, 4), {"number of rows", "value = 4", "at least 5"}));
  CHECK(refused(cases.matrix(8, 4), {"column_names", "value = 2", "needs 4"}, {"a", "b"}));
  Matrix<double> inputs = cases.matrix(8, 4);
  inputs(5, 2) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(require_regressable(inputs), std::domain_error);
  CHECK(refused(inputs, {"row 5", "column 'height'", "inf"}));
  CHECK(refused(inputs, {"row 5", "column 2 (counted from 0)", "inf"}, {}));
  for (const double constant : {0.0, 0.1, -1e9}) {
    inputs.col(2).setConstant(constant);
    CHECK_THROWS_AS(require_regressable(inputs), std::domain_error);
    CHECK(refused(inputs, {"column 'height' is constant", "two different values"}));
  }
  inputs(5, 2) = std::nextafter(-1e9, 0.0);
  CHECK(refused(inputs, {"column 'height' varies by no more than its rounding", "values without their mean"}));
}

TEST_CASE("a collinear column is named with those that make it up") {
  RegressionCases cases(103);
  Matrix<double> inputs = cases.matrix(9, 4);
  inputs.col(3) = 0.3 * inputs.col(0) - 7.0 * inputs.col(2);
  inputs.col(3).array() += 11.0;
  CHECK_THROWS_AS(require_regressable(inputs), std::domain_error);
  CHECK(refused(inputs, {"is a linear combination of", "'age'", "'height'", "'sum'"}));
  CHECK_FALSE(refused(inputs, {"'mass'"}));
  inputs.col(3) = inputs.col(1);
  CHECK(refused(inputs, {"is a linear combination of", "'mass'", "'sum'"}));
  CHECK(refused(inputs, {"column 1 (counted from 0)", "column 3 (counted from 0)"}, {}));
}

TEST_CASE("least squares finds the task that made the labels") {
  RegressionCases cases(104);
  const Matrix<double> inputs = cases.matrix(40, 4);
  const Vector<double> w = cases.vector(4);
  const Vector<double> labels = (inputs * w).array() + 2.5;
  const auto exact = least_squares_task(inputs, labels);
  CHECK((exact.slope - w).norm() <= 1e-13 * w.norm());
  CHECK(std::abs(exact.intercept - 2.5) <= 1e-13);
  CHECK(exact.residual_variance <= 1e-28);
}

TEST_CASE("least squares leaves residuals orthogonal to every column, their mean square the residual variance") {
  RegressionCases cases(105);
  Matrix<double> inputs = cases.matrix(25, 3);
  inputs.col(0).array() += 1e4;
  inputs.col(1) *= 1e-5;
  const Vector<double> labels = cases.vector(25);
  const auto fit = least_squares_task(inputs, labels);
  const Vector<double> residual = labels.array() - fit.intercept - (inputs * fit.slope).array();
  CHECK(std::abs(residual.sum()) <= 1e-9);
  const Matrix<double> centered = inputs.rowwise() - inputs.colwise().mean();
  for (Eigen::Index i = 0; i < 3; ++i) {
    CHECK(std::abs(centered.col(i).dot(residual)) <= 1e-9 * centered.col(i).norm() * labels.norm());
  }
  CHECK(std::abs(fit.residual_variance - residual.squaredNorm() / 25.0) <= 1e-9 * fit.residual_variance);
  // Power: another slope leaves more.
  Vector<double> other = fit.slope;
  other(2) *= 1.1;
  const Vector<double> worse = labels.array() - labels.mean() - (centered * other).array();
  CHECK(worse.squaredNorm() / 25.0 > fit.residual_variance);
}

TEST_CASE("least_squares_task refuses what require_regressable does, and labels that do not fit") {
  RegressionCases cases(106);
  Matrix<double> inputs = cases.matrix(9, 4);
  Vector<double> labels = cases.vector(9);
  CHECK(refuses<std::logic_error>([&] { least_squares_task<double>(inputs, labels.head(8)); },
                                  {"least_squares_task", "labels", "8 x 1"}));
  labels(1) = std::nan("");
  CHECK(refuses<std::logic_error>([&] { least_squares_task(inputs, labels); }, {"labels(1, 0)", "nan"}));
  labels(1) = 0.0;
  inputs.col(1).setConstant(3.0);
  CHECK_THROWS_AS(least_squares_task(inputs, labels), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { least_squares_task<double>(inputs, labels, column_names); },
                                  {"'mass' is constant", "value = 3"}));
}
