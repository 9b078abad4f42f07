#include "incontext/regression/any_law_error.hpp"

#include <cmath>
#include <limits>

#include "incontext/regression/generalization_error.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

using Parabola = InverseTemperatureParabola<double>;

/// Rows with the moments of N(mean, root root^T) up to order four: the grid of the points 0 (four times) and
/// +- sqrt(3) (once each), whose kurtosis is 3, in every coordinate.
Matrix<double> gaussian_like_rows(const Vector<double>& mean, const Matrix<double>& root) {
  const Eigen::Index d = mean.size();
  const double points[6] = {0.0, 0.0, 0.0, 0.0, std::sqrt(3.0), -std::sqrt(3.0)};
  Eigen::Index n = 1;
  for (Eigen::Index i = 0; i < d; ++i) n *= 6;
  Matrix<double> rows(n, d);
  for (Eigen::Index i = 0; i < n; ++i) {
    Vector<double> z(d);
    for (Eigen::Index j = 0, code = i; j < d; ++j, code /= 6) z(j) = points[code % 6];
    rows.row(i) = (mean + root * z).transpose();
  }
  return rows;
}

bool close(const Parabola& a, const Parabola& b, double bound) {
  return std::abs(a.constant - b.constant) <= bound * b.constant &&
         std::abs(a.linear - b.linear) <= bound * std::sqrt(b.constant * b.quadratic) &&
         std::abs(a.quadratic - b.quadratic) <= bound * b.quadratic;
}

}  // namespace

TEST_CASE("rows with Gaussian moments up to the fourth give the Gaussian error") {
  const Eigen::Index d = GENERATE(1, 2, 3);
  const std::int64_t l = GENERATE(2, 5, 40);
  const Offset offset = GENERATE(Offset::kept, Offset::removed);
  RegressionCases cases(static_cast<std::uint64_t>(95 + d));
  const auto task = cases.task(d);
  const auto attention = cases.attention(d);
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  const InputRows<double> rows(gaussian_like_rows(task.input_mean(), root));
  const Parabola gaussian = generalization_error(attention, task, l, {.offset = offset});
  const Parabola same = any_law_error(attention, rows, task.task_mean(), task.task_covariance(), 0.375, l, offset);
  CHECK(close(same, gaussian, 1e-13));

  // Power: rows with the same mean and covariance and another kurtosis are distinguished.
  Matrix<double> two_points(2, d);
  if (d == 1) {
    two_points << task.input_mean()(0) + root(0, 0), task.input_mean()(0) - root(0, 0);
    const InputRows<double> signs(two_points);
    CHECK_FALSE(close(any_law_error(attention, signs, task.task_mean(), task.task_covariance(), 0.375, l, offset),
                      gaussian, 1e-3));
  }
}

TEST_CASE("labels that are linear make labeled rows the law with one known task") {
  const std::int64_t l = GENERATE(2, 3, 30);
  const Offset offset = GENERATE(Offset::kept, Offset::removed);
  RegressionCases cases(98);
  const Matrix<double> inputs = cases.matrix(12, 3);
  const Vector<double> w = cases.vector(3);
  const auto attention = cases.attention(3);
  const InputRows<double> rows(inputs);
  const Matrix<double> certain = Matrix<double>::Zero(3, 3);
  CHECK(close(labeled_rows_error<double>(attention, rows, inputs * w, l, offset),
              any_law_error<double>(attention, rows, w, certain, 0.0, l, offset), 1e-13));

  // Every row twice, with its label moved up and down: noise independent of the inputs.
  Matrix<double> twice(24, 3);
  twice << inputs, inputs;
  Vector<double> labels = twice * w;
  labels.head(12).array() += 0.5;
  labels.tail(12).array() -= 0.5;
  const InputRows<double> both(twice);
  const Parabola noisy = labeled_rows_error<double>(attention, both, labels, l, offset);
  CHECK(close(noisy, any_law_error<double>(attention, both, w, certain, 0.25, l, offset), 1e-13));
  CHECK_FALSE(close(noisy, any_law_error<double>(attention, both, w, certain, 0.26, l, offset), 1e-3));
}

TEST_CASE("a constant added to all labels passes through the kept offset when v_y = 1") {
  RegressionCases cases(99);
  const InputRows<double> rows(cases.matrix(12, 3));
  const Vector<double> labels = cases.vector(12);
  auto attention = cases.attention(3);
  attention.label_value = 1.0;
  const Vector<double> shifted = labels.array() + 1024.0;
  const Parabola here = labeled_rows_error(attention, rows, labels, 5);
  CHECK(close(labeled_rows_error(attention, rows, shifted, 5), here, 1e-12));
  CHECK_FALSE(close(labeled_rows_error(attention, rows, shifted, 5, Offset::removed), here, 1e-1));
}

TEST_CASE("the errors on rows refuse what does not fit, by name") {
  RegressionCases cases(100);
  const InputRows<double> rows(cases.matrix(6, 2));
  const auto attention = cases.attention(2);
  const Vector<double> mean = cases.vector(2);
  const Matrix<double> covariance = cases.covariance(2);
  const auto refused = [&](const Attention<double>& a, const Vector<double>& m, const Matrix<double>& c, double noise,
                           std::int64_t l, std::initializer_list<std::string_view> fragments) {
    return refuses<std::logic_error>([&] { any_law_error(a, rows, m, c, noise, l); }, fragments);
  };
  CHECK(refused(attention, mean, covariance, 0.1, 1, {"context_length", "value = 1"}));
  CHECK(refused(cases.attention(3), mean, covariance, 0.1, 4, {"key_query", "3 x 3"}));
  CHECK(refused(attention, cases.vector(3), covariance, 0.1, 4, {"task_mean", "3 x 1"}));
  CHECK(refused(attention, mean, cases.covariance(1), 0.1, 4, {"task_covariance", "1 x 1"}));
  CHECK(refused(attention, mean, -covariance, 0.1, 4, {"task_covariance", "semidefinite", "value = -"}));
  CHECK(refused(attention, mean, covariance, -0.1, 4, {"noise_variance", "-0.1"}));
  // Singular is allowed: one direction, and none.
  CHECK_FALSE(refused(attention, mean, mean * mean.transpose(), 0.1, 4, {}));
  CHECK_FALSE(refused(attention, mean, 0.0 * covariance, 0.0, 4, {}));

  CHECK(refuses<std::logic_error>([&] { labeled_rows_error<double>(attention, rows, cases.vector(5), 4); },
                                  {"labels", "5 x 1"}));
  CHECK(refuses<std::logic_error>([&] { labeled_rows_error<double>(attention, rows, cases.vector(6), 0); },
                                  {"context_length", "value = 0"}));
  Vector<double> labels = cases.vector(6);
  labels(3) = std::nan("");
  CHECK(refuses<std::logic_error>([&] { labeled_rows_error(attention, rows, labels, 4); }, {"labels(3, 0)", "nan"}));
}

TEST_CASE("the errors on rows in long double are those in double") {
  RegressionCases cases(101);
  const Matrix<double> inputs = cases.matrix(12, 3);
  const Vector<double> labels = cases.vector(12);
  const auto attention = cases.attention(3);
  const auto task = cases.task(3);
  const InputRows<double> rows(inputs);
  const InputRows<long double> wide(as<long double>(inputs));
  const auto narrowed = [](const InverseTemperatureParabola<long double>& error) {
    return Parabola{static_cast<double>(error.constant), static_cast<double>(error.linear),
                    static_cast<double>(error.quadratic)};
  };
  const double eps = std::numeric_limits<double>::epsilon();
  for (const std::int64_t l : {2, 30}) {
    CHECK(close(any_law_error(attention, rows, task.task_mean(), task.task_covariance(), 0.375, l),
                narrowed(any_law_error(as<long double>(attention), wide, as<long double>(task.task_mean()),
                                       as<long double>(task.task_covariance()), 0.375L, l)),
                12.0 * eps));
    CHECK(close(labeled_rows_error(attention, rows, labels, l),
                narrowed(labeled_rows_error(as<long double>(attention), wide, as<long double>(labels), l)),
                12.0 * eps));
  }
}
