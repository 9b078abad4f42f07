#include "incontext/regression/input_rows.hpp"

#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

struct DirectMoments {
  Vector<long double> mean;
  Matrix<long double> covariance;
  Matrix<long double> fourth;
  Vector<long double> third;
};

/// By the definitions, entry by entry over d^4 and d^3 products, in long double.
DirectMoments direct(const Matrix<double>& rows, const Matrix<double>& b) {
  const Eigen::Index d = rows.cols();
  const long double n = static_cast<long double>(rows.rows());
  DirectMoments m{Vector<long double>::Zero(d), Matrix<long double>::Zero(d, d), Matrix<long double>::Zero(d, d),
                  Vector<long double>::Zero(d)};
  for (Eigen::Index i = 0; i < rows.rows(); ++i) m.mean += rows.row(i).transpose().cast<long double>() / n;
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const Vector<long double> z = rows.row(i).transpose().cast<long double>() - m.mean;
    for (Eigen::Index j = 0; j < d; ++j) {
      for (Eigen::Index k = 0; k < d; ++k) {
        m.covariance(j, k) += z(j) * z(k) / n;
        for (Eigen::Index p = 0; p < d; ++p) {
          for (Eigen::Index q = 0; q < d; ++q) m.fourth(j, k) += z(j) * z(p) * b(p, q) * z(q) * z(k) / n;
          m.third(j) += z(k) * b(k, p) * z(p) * z(j) / n;
        }
      }
    }
  }
  return m;
}

}  // namespace

TEST_CASE("moments of rows are those of their definition") {
  RegressionCases cases(91);
  for (const Eigen::Index n : {2, 3, 40}) {
    for (const Eigen::Index d : {1, 2, 5}) {
      const Matrix<double> rows = cases.matrix(n, d);
      const Matrix<double> b = cases.covariance(d);
      const InputRows<double> law(rows);
      const DirectMoments exact = direct(rows, b);
      const double bound = 8.0 * static_cast<double>(d) * std::numeric_limits<double>::epsilon();
      CHECK(law.count() == n);
      CHECK(law.dimension() == d);
      CHECK((law.mean() - exact.mean.cast<double>()).norm() <= bound);
      CHECK((law.covariance() - exact.covariance.cast<double>()).norm() <= bound * law.covariance().norm());
      CHECK((law.fourth_moment(b) - exact.fourth.cast<double>()).norm() <= bound * law.fourth_moment(b).norm());
      CHECK((law.third_moment(b) - exact.third.cast<double>()).norm() <= bound * b.norm() * 8.0);
      CHECK(law.covariance() == law.covariance().transpose());
      CHECK(law.fourth_moment(b) == law.fourth_moment(b).transpose());
    }
  }
}

TEST_CASE("a mean far from zero costs no digits of the covariance") {
  RegressionCases cases(92);
  const Matrix<double> rows = cases.matrix(50, 3);
  Matrix<double> far = rows;
  far.array() += 1048576.0;  // exact: the entries are 64ths
  const InputRows<double> law(rows), shifted(far);
  CHECK((shifted.covariance() - law.covariance()).norm() <= 1e-14 * law.covariance().norm());
  const Matrix<double> b = cases.covariance(3);
  CHECK((shifted.fourth_moment(b) - law.fourth_moment(b)).norm() <= 1e-13 * law.fourth_moment(b).norm());
  CHECK((shifted.mean() - law.mean() - Vector<double>::Constant(3, 1048576.0)).norm() <= 1e-9);
}

TEST_CASE("the mean of many rows far from zero is rounded once, not once per row") {
  RegressionCases cases(94);
  const Matrix<double> rows = (cases.matrix(20'000, 2) / 3).array() + 1e9 / 3;
  const Vector<long double> exact = rows.cast<long double>().colwise().sum().transpose() / 20'000.0L;
  const double one_rounding = 0x1p-24;  // between 2^28 and 2^29
  const double off = (InputRows<double>(rows).mean() - exact.cast<double>()).cwiseAbs().maxCoeff();
  CHECK(off <= one_rounding);
  const double first_pass = (rows.colwise().sum().transpose() / 20'000 - exact.cast<double>()).cwiseAbs().maxCoeff();
  CHECK(first_pass > one_rounding);
}

TEST_CASE("rows that hold no law are refused") {
  RegressionCases cases(93);
  CHECK_THROWS_AS(InputRows<double>(cases.matrix(1, 3)), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { InputRows<double>{cases.matrix(1, 3)}; }, {"rows.rows()", "value = 1"}));
  CHECK(refuses<std::logic_error>([&] { InputRows<double>{Matrix<double>(4, 0)}; }, {"rows.cols()", "value = 0"}));
  Matrix<double> broken = cases.matrix(4, 2);
  broken(2, 1) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(InputRows<double>(broken), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { InputRows<double>{broken}; }, {"rows(2, 1)", "nan"}));
}
