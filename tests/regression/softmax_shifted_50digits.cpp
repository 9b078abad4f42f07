// What double rounds off in the parts of the exact errors of true softmax: the density of noncentral weighted chi
// squares, a row beside its query, and rows of data, against the same templates at 50 digits.

#include <cmath>

#include "incontext/laws/standard_row.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_rows_error.hpp"
#include "incontext/scoring/softmax.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;

namespace {

template <Real T>
regression::detail::WeightedChiSquareQueries<T> queries(const Vector<double>& lambda, const Vector<double>& mean,
                                                        const Matrix<double>& square, const Vector<double>& linear) {
  return {"test",
          as<T>(lambda),
          as<T>(mean),
          {as<T>(square), as<T>(linear)},
          {as<T>(Matrix<double>(square * square)), Vector<T>::Zero(lambda.size())}};
}

double off(double value, const Real50& reference, const Real50& scale) {
  return static_cast<double>(abs(Real50(value) - reference) / abs(scale));
}

}  // namespace

TEST_CASE("rounding of the density of a weighted sum of noncentral chi squares and of its moments") {
  RegressionCases cases(601);
  const Matrix<double> square = cases.matrix(3, 3);
  const Vector<double> linear = cases.vector(3);
  for (const auto& lambda : {Vector<double>{{1.0, 0.5, 0.25}}, Vector<double>{{1.0, 0.0078125, 0.0}}}) {
    for (const double length : {0.0, 1.0, 8.0}) {
      const Vector<double> mean = length * Vector<double>{{0.5, -1.0, 0.25}};
      const auto rounded = queries<double>(lambda, mean, square, linear);
      const auto exact = queries<Real50>(lambda, mean, square, linear);
      const double peak = rounded.start();
      for (const double u : {peak - 0.5, peak, peak + 0.25}) {
        const auto a = rounded(u);
        const auto b = exact(Real50(u));
        INFO("mean " << length << ", u " << u);
        CHECK(off(a.density, b.density, b.density) < 1e-11);
        CHECK(off(a.linear, b.linear, b.density) < 1e-9);
        CHECK(off(a.quadratic, b.quadratic, b.density) < 1e-9);
      }
    }
  }
}

TEST_CASE("rounding of the moments of a row beside one more token") {
  for (const double stddev : {0.25, 2.0}) {
    for (const double needle : {-2.0, 6.0}) {
      const laws::StandardRows rounded("test", scoring::Softmax<double>{1.0}.elementwise(4), 4.0);
      const laws::StandardRows exact("test", scoring::Softmax<Real50>{Real50(1)}.elementwise(4), Real50(4));
      const auto a = rounded.with_needle(stddev, needle);
      const auto b = exact.with_needle(Real50(stddev), Real50(needle));
      CHECK(b.error_estimate < Real50(1e-30));
      CHECK(off(a.ipr, b.ipr, 1) < 1e-13);
      CHECK(off(a.mean_score, b.mean_score, 1) < 1e-13);
      CHECK(off(a.mean_square_score, b.mean_square_score, 1) < 1e-13);
    }
  }
}

TEST_CASE("rounding of the error of softmax on rows") {
  RegressionCases cases(602);
  const Matrix<double> rows = cases.matrix(4, 2);
  const auto attention = cases.attention(2);
  const Vector<double> labels = cases.vector(4);
  for (const double temperature : {0.125, 2.0}) {
    const double rounded =
        softmax_labeled_rows_error<double>(attention, rows, labels, 6, scoring::Softmax<double>{temperature}).value;
    const auto exact = softmax_labeled_rows_error<Real50>(as<Real50>(attention), as<Real50>(rows), as<Real50>(labels),
                                                          6, scoring::Softmax<Real50>{Real50(temperature)});
    CHECK(exact.error_estimate < Real50(1e-30) * exact.value);
    CHECK(off(rounded, exact.value, exact.value) < 1e-12);
  }
}
