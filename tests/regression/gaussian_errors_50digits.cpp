// The same templates in float, double and long double against 50 digits, on inputs all types hold exactly.

#include <algorithm>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

constexpr Eigen::Index dimensions[] = {1, 2, 4, 8};
constexpr std::int64_t lengths[] = {2, 3, 40, 100'000};

}  // namespace

TEMPLATE_TEST_CASE("the error of approximate softmax rounds as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(150 + d));
    for (const auto& task : edge_tasks(d)) {
      const auto attention = cases.attention(d);
      const auto task_t = as<T>(task);
      const auto task_50 = as<Real50>(task);
      const auto attention_t = as<T>(attention);
      const auto attention_50 = as<Real50>(attention);
      for (const std::int64_t l : lengths) {
        for (const Offset offset : {Offset::kept, Offset::removed}) {
          const ErrorConvention convention{.offset = offset};
          worst.add(eps_off(generalization_error(attention_t, task_t, l, convention),
                            generalization_error(attention_50, task_50, l, convention)),
                    "d ", d, ", l ", l);
        }
        worst.add(eps_off(generalization_error_leading_order(attention_t, task_t, l),
                          generalization_error_leading_order(attention_50, task_50, l)),
                  "d ", d, ", l ", l);
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}

TEMPLATE_TEST_CASE("the error with the query included rounds as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(160 + d));
    for (const auto& any : edge_tasks(d)) {
      const auto task = any.with_input_mean(Vector<double>::Zero(d));
      auto attention = cases.attention(d);
      attention.input_value.setZero();
      for (const std::int64_t l : lengths) {
        for (const Offset offset : {Offset::kept, Offset::removed}) {
          const ErrorConvention included{.query = QueryToken::included, .offset = offset};
          worst.add(eps_off(generalization_error(as<T>(attention), as<T>(task), l, included),
                            generalization_error(as<Real50>(attention), as<Real50>(task), l, included)),
                    "d ", d, ", l ", l);
        }
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}

TEMPLATE_TEST_CASE("the error of linear attention rounds as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(150 + d));
    for (const auto& task : edge_tasks(d)) {
      const auto attention = cases.attention(d);
      for (const std::int64_t l : lengths) {
        worst.add(eps_off(linear_attention_error(as<T>(attention), as<T>(task), l),
                          linear_attention_error(as<Real50>(attention), as<Real50>(task), l)),
                  "d ", d, ", l ", l);
      }
    }
  }
  CHECK(worst <= 12.0);
  CHECK(worst > 0.0);
}
