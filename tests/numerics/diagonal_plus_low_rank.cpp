#include "incontext/numerics/diagonal_plus_low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "incontext/numerics/decompositions.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

using namespace incontext::numerics;
using namespace incontext::testing;

namespace {

using Low = DiagonalPlusLowRank<double>;

Low random_matrix(RegressionCases& cases, Eigen::Index d, Eigen::Index rank) {
  return {cases.vector(d), cases.matrix(d, rank), cases.matrix(d, rank)};
}

/// The entries' absolute values, part by part: what rounding is in proportion to.
Matrix<double> sizes(const Low& a) {
  return Matrix<double>(a.entries().cwiseAbs().asDiagonal()) + a.left().cwiseAbs() * a.right().cwiseAbs().transpose();
}

/// Of the largest entry of `size`, in the accuracy that the header promises.
double off(const Matrix<double>& value, const Matrix<double>& dense, const Matrix<double>& size, Eigen::Index terms) {
  return (value - dense).cwiseAbs().maxCoeff() /
         (4.0 * static_cast<double>(terms) * std::numeric_limits<double>::epsilon() * size.maxCoeff());
}

}  // namespace

TEST_CASE("every operation of a diagonal plus low rank is that of the dense matrix") {
  Worst worst;
  for (const Eigen::Index d : {1, 2, 9}) {
    for (const Eigen::Index rank : {0, 1, 3}) {
      RegressionCases cases(static_cast<std::uint64_t>(10 * d + rank));
      const Low a = random_matrix(cases, d, rank), b = random_matrix(cases, d, 2);
      const Matrix<double> x = a.dense(), y = b.dense(), ax = sizes(a), by = sizes(b);
      const Vector<double> u = cases.vector(d), v = cases.vector(d);
      const auto same = [&](const char* what, const Matrix<double>& value, const Matrix<double>& dense,
                            const Matrix<double>& size) {
        worst.add(off(value, dense, size, d + rank + 2), what, ", d ", d, ", rank ", rank);
      };
      same("A + B", (a + b).dense(), x + y, ax + by);
      same("A - B", (a - b).dense(), x - y, ax + by);
      same("-A", (-a).dense(), -x, ax);
      same("3 A", (3.0 * a).dense(), 3.0 * x, 3.0 * ax);
      same("A 3", (a * 3.0).dense(), 3.0 * x, 3.0 * ax);
      same("A / 3", (a / 3.0).dense(), x / 3.0, ax / 3.0);
      same("A^T", a.transpose().dense(), x.transpose(), ax);
      same("diagonal", a.diagonal(), x.diagonal(), ax);
      same("A v", a * v, x * v, ax * v.cwiseAbs());
      same("A B", product(a, b).dense(), x * y, ax * by);
      same("A + s u v^T", plus_outer(a, 0.7, u, v).dense(), plus_outer<double>(x, 0.7, u, v),
           ax + 0.7 * u.cwiseAbs() * v.cwiseAbs().transpose());
      const auto number = [](double value) { return Matrix<double>::Constant(1, 1, value); };
      same("tr A", number(a.trace()), number(x.trace()), number(ax.trace()));
      same("tr A B", number(trace_of_product(a, b)), number((x * y).trace()), number((ax * by).trace()));
      CHECK(entry_bound<double>(x) == x.cwiseAbs().maxCoeff());
      CHECK(entry_bound(a) >= entry_bound<double>(x) * (1.0 - 1e-15));
      if (rank == 0) CHECK(entry_bound(a) == entry_bound<double>(x));
    }
  }
  CHECK(worst <= 1.0);
  CHECK(worst > 0.0);
}

TEST_CASE("plus_outer of a dense matrix adds the product of entries") {
  RegressionCases cases(3);
  const Matrix<double> a = cases.matrix(4, 3);
  const Vector<double> u = cases.vector(4), v = cases.vector(3);
  const Matrix<double> sum = plus_outer<double>(a, 0.5, u, v);
  for (Eigen::Index i = 0; i < 4; ++i) {
    for (Eigen::Index j = 0; j < 3; ++j) CHECK(sum(i, j) == a(i, j) + 0.5 * (u(i) * v(j)));
  }
}

TEST_CASE("a diagonal matrix has its factor and its spectrum, one with a part of low rank is refused") {
  RegressionCases cases(4);
  const Vector<double> variances = cases.vector(5).cwiseAbs().array() + 0.25, right = cases.vector(5);
  const Low matrix(variances.asDiagonal());
  const Cholesky<double, Low> factor(matrix);
  CHECK(factor.exists());
  CHECK((product(factor.lower(), factor.lower().transpose()).dense() - matrix.dense()).norm() <= 1e-15);
  CHECK((matrix * factor.solve(right) - right).norm() <= 1e-15);
  CHECK((factor.lower() * factor.solve_lower(right) - right).norm() <= 1e-15);
  CHECK((product(matrix, factor.solve(Low::Identity(5, 5))).dense() - Matrix<double>::Identity(5, 5)).norm() <= 1e-15);
  CHECK_FALSE((Cholesky<double, Low>(matrix - 0.25 * Low::Identity(5, 5) - matrix).exists()));
  const auto spectrum = symmetric_spectrum(matrix);
  CHECK(spectrum.values == variances);
  CHECK(spectrum.vectors.dense() == Matrix<double>::Identity(5, 5));

  const Low spiked = plus_outer(matrix, 1.0, right, right);
  CHECK(refuses<std::invalid_argument>([&] { symmetric_spectrum(spiked); }, {"low rank", "value = 1"}));
  CHECK(refuses<std::invalid_argument>([&] { Cholesky<double, Low>{spiked}; }, {"low rank", "value = 1"}));
}
