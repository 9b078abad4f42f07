// The formulas against the enumeration of every context at 50 digits; then rounding in float and double
// against 50 digits, on inputs all types hold exactly; long double against double in any_law_error.cpp.

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

/// The mean over every context and query of E (y_q - yhat)^2, task vector and noise averaged by hand: with
/// s = sum_j a_j x_j the residual is e_q + w . (x_q - v_y s) - v_x . s - v_y sum_j a_j e_j.
Real50 enumerated(const Attention<Real50>& attention, const Matrix<Real50>& rows, const Vector<Real50>& task_mean,
                  const Matrix<Real50>& task_covariance, const Real50& noise_variance, std::int64_t l, Offset offset,
                  const Real50& temperature) {
  const Eigen::Index d = rows.cols();
  Real50 sum = 0;
  Real50 count = 0;
  for_each_context(rows.rows(), l, [&](const std::vector<Eigen::Index>& context, Eigen::Index query) {
    const Vector<Real50> a = literal_weights(attention, rows, context, query, temperature, offset);
    Vector<Real50> s = Vector<Real50>::Zero(d);
    Real50 squares = 0;
    for (std::size_t j = 0; j < context.size(); ++j) {
      const Real50 weight = a(static_cast<Eigen::Index>(j));
      for (Eigen::Index k = 0; k < d; ++k) s(k) += weight * rows(context[j], k);
      squares += weight * weight;
    }
    Real50 fixed = 0, spread = 0;
    for (Eigen::Index k = 0; k < d; ++k) {
      const Real50 gap = rows(query, k) - attention.label_value * s(k);
      fixed += task_mean(k) * gap - attention.input_value(k) * s(k);
      for (Eigen::Index m = 0; m < d; ++m) {
        spread += gap * task_covariance(k, m) * (rows(query, m) - attention.label_value * s(m));
      }
    }
    const Real50 noise = noise_variance * (1 + attention.label_value * attention.label_value * squares);
    sum += fixed * fixed + spread + noise;
    count += 1;
  });
  return sum / count;
}

}  // namespace

TEST_CASE("the error on rows is the mean over every context and query, to 40 digits") {
  RegressionCases cases(171);
  for (const Eigen::Index n : {4, 5}) {
    const Matrix<Real50> table = as<Real50>(cases.matrix(n, 2));
    const auto attention = as<Real50>(cases.attention(2));
    const Vector<Real50> mean = as<Real50>(cases.vector(2));
    const Matrix<Real50> covariance = as<Real50>(cases.covariance(2));
    const Real50 noise = Real50(3) / 7;
    const InputRows<Real50> rows(table);
    Matrix<Real50> both(2 * n, 2);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < 2; ++j) {
        both(i, j) = table(i, j);
        both(n + i, j) = rows.mean()(j) - rows.centered()(i, j);
      }
    }
    const InputRows<Real50> mirrored_rows(both);
    for (const std::int64_t l : {2, 3, 4}) {
      for (const Offset offset : {Offset::kept, Offset::removed}) {
        const auto error = any_law_error(attention, rows, mean, covariance, noise, l, offset);
        for (const double temperature : {0.5, 1.0, 4.0}) {
          const Real50 truth = enumerated(attention, table, mean, covariance, noise, l, offset, Real50(temperature));
          CHECK(abs(error(Real50(temperature)) - truth) <= Real50(1e-40) * truth);
          // Power: the same rows mirrored in their mean differ in the third moment alone.
          if (offset == Offset::kept) {
            const auto mirrored = any_law_error(attention, mirrored_rows, mean, covariance, noise, l, offset);
            CHECK(abs(mirrored(Real50(temperature)) - truth) > Real50(1e-6) * truth);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("the error on rows rounds as stated", "", float, double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(170 + d));
    for (const Eigen::Index n : {2, 5, 40}) {
      const Matrix<double> table = cases.matrix(n, d);
      const auto attention = cases.attention(d);
      const Vector<double> mean = cases.vector(d);
      const Matrix<double> covariance = cases.covariance(d);
      const InputRows<T> rows(as<T>(table));
      const InputRows<Real50> rows_50(as<Real50>(table));
      for (const std::int64_t l : lengths) {
        for (const Offset offset : {Offset::kept, Offset::removed}) {
          const auto exact = any_law_error<Real50>(as<Real50>(attention), rows_50, as<Real50>(mean),
                                                   as<Real50>(covariance), Real50(0.375), l, offset);
          const auto rounded =
              any_law_error<T>(as<T>(attention), rows, as<T>(mean), as<T>(covariance), T(0.375), l, offset);
          worst.add(eps_off(rounded, exact), "d ", d, ", n ", n, ", l ", l);
        }
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}
