// The same templates in float, double and long double against 50 digits, on inputs all types hold exactly.

#include <algorithm>

#include "incontext/regression/moment_ratio.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

constexpr Eigen::Index dimensions[] = {1, 2, 4, 8};

}  // namespace

TEMPLATE_TEST_CASE("the pretrained attention and the moment ratio round as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst_m, worst_v, worst_ratio;
  for (const Eigen::Index d : dimensions) {
    RegressionCases cases(static_cast<std::uint64_t>(180 + d));
    for (int i = 0; i < 4; ++i) {
      const auto task = cases.task(d);
      const auto exact = pretrained_attention(as<Real50>(task), 5);
      const auto rounded = pretrained_attention(as<T>(task), 5);
      worst_m.add(eps_off<T>(rounded.key_query, exact.key_query, exact.key_query.norm()), "d ", d, ", i ", i);
      worst_v.add(eps_off<T>(rounded.input_value, exact.input_value, exact.input_value.norm()), "d ", d, ", i ", i);
      auto attention = cases.attention(d);
      attention.key_query += 2.0 * Matrix<double>::Identity(d, d);
      const auto ratio = moment_ratio(as<Real50>(attention), as<Real50>(task)).ratio;
      worst_ratio.add(eps_off(moment_ratio(as<T>(attention), as<T>(task)).ratio, ratio, ratio), "d ", d, ", i ", i);
    }
  }
  CHECK(worst_m <= 40.0);
  CHECK(worst_v <= 40.0);
  CHECK(worst_ratio <= 8.0);
  CHECK(worst_m > 0.0);
}
