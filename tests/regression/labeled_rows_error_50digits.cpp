// The formulas against the enumeration of every context at 50 digits; then rounding in float, double and long double
// against 50 digits, on inputs all types hold exactly.

#include <algorithm>

#include "incontext/regression/any_law_error.hpp"
#include "regression/enumerated_contexts.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

constexpr Eigen::Index dimensions[] = {1, 2, 4, 8};
constexpr std::int64_t lengths[] = {2, 3, 40, 100'000};

/// The mean of (y_q - yhat)^2 over every context and query.
Real50 enumerated(const Attention<Real50>& attention, const Matrix<Real50>& rows, const Vector<Real50>& labels,
                  std::int64_t l, Offset offset, const Real50& temperature) {
  Real50 sum = 0;
  Real50 count = 0;
  for_each_context(rows.rows(), l, [&](const std::vector<Eigen::Index>& context, Eigen::Index query) {
    const Vector<Real50> a = literal_weights(attention, rows, context, query, temperature, offset);
    Real50 guess = 0;
    for (std::size_t j = 0; j < context.size(); ++j) {
      Real50 value = attention.label_value * labels(context[j]);
      for (Eigen::Index k = 0; k < rows.cols(); ++k) value += attention.input_value(k) * rows(context[j], k);
      guess += a(static_cast<Eigen::Index>(j)) * value;
    }
    sum += (labels(query) - guess) * (labels(query) - guess);
    count += 1;
  });
  return sum / count;
}

}  // namespace

TEST_CASE("the error on labeled rows is the mean over every context and query, to 40 digits") {
  RegressionCases cases(191);
  for (const Eigen::Index n : {4, 5}) {
    const Matrix<Real50> table = as<Real50>(cases.matrix(n, 2));
    const Vector<Real50> labels = as<Real50>(cases.vector(n));
    const auto attention = as<Real50>(cases.attention(2));
    const InputRows<Real50> rows(table);
    for (const std::int64_t l : {2, 3, 4}) {
      for (const Offset offset : {Offset::kept, Offset::removed}) {
        const auto error = labeled_rows_error(attention, rows, labels, l, offset);
        // Power: the error of a context one longer.
        const auto longer = labeled_rows_error(attention, rows, labels, l + 1, offset);
        for (const double temperature : {0.5, 1.0, 4.0}) {
          const Real50 truth = enumerated(attention, table, labels, l, offset, Real50(temperature));
          CHECK(abs(error(Real50(temperature)) - truth) <= Real50(1e-40) * truth);
          CHECK(abs(longer(Real50(temperature)) - truth) > Real50(1e-6) * truth);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("the error on labeled rows rounds as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(190 + d));
    for (const Eigen::Index n : {2, 5, 40}) {
      const Matrix<double> table = cases.matrix(n, d);
      const Vector<double> labels = cases.vector(n);
      const auto attention = cases.attention(d);
      const InputRows<T> rows(as<T>(table));
      const InputRows<Real50> rows_50(as<Real50>(table));
      for (const std::int64_t l : lengths) {
        for (const Offset offset : {Offset::kept, Offset::removed}) {
          const auto exact = labeled_rows_error<Real50>(as<Real50>(attention), rows_50, as<Real50>(labels), l, offset);
          const auto rounded = labeled_rows_error<T>(as<T>(attention), rows, as<T>(labels), l, offset);
          worst.add(eps_off(rounded, exact), "d ", d, ", n ", n, ", l ", l);
        }
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}
