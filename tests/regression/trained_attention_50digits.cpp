#include "incontext/regression/trained_attention.hpp"

#include <cstdint>

#include "regression/real_types.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("the trained attention rounds as stated", "", float, double, long double) {
  using T = TestType;
  Worst worst;
  for (const Eigen::Index d : {1, 2, 4, 8}) {
    RegressionCases cases(static_cast<std::uint64_t>(190 + d));
    for (int i = 0; i < 4; ++i) {
      const auto task =
          cases.task(d, 0.5).with_input_mean(Vector<double>::Zero(d)).with_task_mean(Vector<double>::Zero(d));
      const auto add = [&](const auto& rounded, const auto& exact) {
        worst.add(eps_off<T>(rounded.key_query, exact.key_query, exact.key_query.norm()), "d ", d, ", i ", i);
      };
      add(trained_attention(as<T>(task), 5), trained_attention(as<Real50>(task), 5));
      add(trained_linear_attention(as<T>(task), 5), trained_linear_attention(as<Real50>(task), 5));
    }
  }
  CHECK(worst <= 40.0);
  CHECK(worst > 0.0);
}
