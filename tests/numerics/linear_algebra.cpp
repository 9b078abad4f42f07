#include "incontext/numerics/linear_algebra.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "incontext/numerics/decompositions.hpp"
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

TEST_CASE("is_diagonal takes square matrices without an entry beside the diagonal") {
  Matrix<double> matrix = Matrix<double>::Zero(3, 3);
  CHECK(is_diagonal(matrix));
  matrix.diagonal() << 1, 0, -2;
  CHECK(is_diagonal(matrix));
  for (const double entry : {1e-300, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    for (const auto& [row, column] : {std::array<Eigen::Index, 2>{0, 2}, {2, 1}}) {
      Matrix<double> other = matrix;
      other(row, column) = entry;
      CHECK_FALSE(is_diagonal(other));
    }
  }
  CHECK_FALSE(is_diagonal(Matrix<double>(Matrix<double>::Zero(2, 3))));
}

TEST_CASE("a product with a diagonal factor is that of the same entries by Eigen") {
  incontext::testing::RegressionCases cases(3);
  const Matrix<double> diagonal = Matrix<double>(cases.matrix(31, 1).col(0).asDiagonal());
  const Matrix<double> left = cases.matrix(17, 31), right = cases.matrix(31, 40);
  CHECK(product<double>(diagonal, right) == Matrix<double>(diagonal * right));
  CHECK(product<double>(left, diagonal) == Matrix<double>(left * diagonal));
}

namespace {

/// The largest entry of a matrix that should be 0, in eps of `size`.
double in_eps(const Matrix<double>& zero, double size) {
  return zero.cwiseAbs().maxCoeff() / (size * std::numeric_limits<double>::epsilon());
}

}  // namespace

TEST_CASE("Cholesky and symmetric_spectrum decompose dense and diagonal matrices") {
  incontext::testing::RegressionCases cases(4);
  const Eigen::Index d = 23;
  const Matrix<double> root = cases.matrix(d, d), right = cases.matrix(d, 5);
  const Matrix<double> dense = product<double>(root, root.transpose()) + Matrix<double>::Identity(d, d);
  const Matrix<double> diagonal = Matrix<double>(dense.diagonal().reverse().asDiagonal());
  for (const Matrix<double>& a : {dense, diagonal}) {
    const double size = a.norm(), bound = 4 * static_cast<double>(d);
    const Cholesky<double> factor(a);
    REQUIRE(factor.exists());
    const Matrix<double>& lower = factor.lower();
    CHECK(Matrix<double>(lower.triangularView<Eigen::StrictlyUpper>()).isZero(0));
    CHECK(in_eps(lower * lower.transpose() - a, size) <= bound);
    CHECK(in_eps(lower * factor.solve_lower(right) - right, size * right.norm()) <= bound);
    CHECK(in_eps(a * factor.solve(right) - right, size * right.norm()) <= bound);

    const SymmetricSpectrum<double> spectrum = symmetric_spectrum(a);
    const Matrix<double>& e = spectrum.vectors;
    CHECK(in_eps(a * e - e * spectrum.values.asDiagonal(), size) <= bound);
    CHECK(in_eps(e.transpose() * e - Matrix<double>::Identity(d, d), 1) <= bound);
  }
  CHECK(symmetric_spectrum(diagonal).values == Vector<double>(diagonal.diagonal()));

  Matrix<double> indefinite = dense;
  indefinite(3, 3) = -1;
  CHECK_FALSE(Cholesky<double>(indefinite).exists());
  Matrix<double> singular = diagonal;
  singular(3, 3) = 0;
  CHECK_FALSE(Cholesky<double>(singular).exists());
  CHECK(Cholesky<double>(singular).solve(right).array().isNaN().all());
}

TEST_CASE("large matrices of doubles are multiplied and decomposed by the functions that are set", "[numerics]") {
  using detail::dense_functions;
  static int products = 0, spectra = 0;
  const auto any = [](int rows, int columns) {
    Matrix<double> matrix(rows, columns);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) matrix(i, j) = std::sin(1.0 + 3.0 * i + 5.0 * j * i + j);
    }
    return matrix;
  };
  const auto work = [&](int size) {
    const Matrix<double> a = any(size, size + 1), square = any(size, size);
    const Matrix<double> symmetric = square + square.transpose();
    const auto spectrum = symmetric_spectrum<double>(symmetric);
    return std::pair(product<double>(a, a.transpose()), product<double>(spectrum.vectors * spectrum.values.asDiagonal(),
                                                                        Matrix<double>(spectrum.vectors.transpose())));
  };
  const auto below = work(63), at = work(64);
  dense_functions.product = [](const double* left, const double* right, double* result, std::ptrdiff_t rows,
                               std::ptrdiff_t inner, std::ptrdiff_t columns) {
    ++products;
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::ptrdiff_t k = 0; k < inner; ++k) sum += left[i + k * rows] * right[k + j * inner];
        result[i + j * rows] = sum;
      }
    }
  };
  dense_functions.spectrum = [](const double* matrix, double* values, double* vectors, std::ptrdiff_t size) {
    ++spectra;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
        Eigen::MatrixXd(Eigen::Map<const Eigen::MatrixXd>(matrix, size, size)));
    Eigen::Map<Eigen::VectorXd>(values, size) = solver.eigenvalues();
    Eigen::Map<Eigen::MatrixXd>(vectors, size, size) = solver.eigenvectors();
  };
  const auto set_below = work(63);
  CHECK((products == 0 && spectra == 0));
  const auto set_at = work(64);
  const auto diagonal = product<double>(Matrix<double>::Identity(64, 64), any(64, 64));
  dense_functions = {};
  CHECK((products == 2 && spectra == 1));
  CHECK(set_below.first == below.first);
  CHECK((set_at.first - at.first).cwiseAbs().maxCoeff() < 1e-13 * 64);
  CHECK((set_at.second - at.second).cwiseAbs().maxCoeff() < 1e-12);
  CHECK(diagonal == any(64, 64));
}
