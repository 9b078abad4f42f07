#include <cstddef>

#include "incontext/baselines/reference_curves.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing::reference_curves_50digits_test {

using namespace baselines;

TEST_CASE("without the query's noise and over d, curves are those numbers at 50 digits") {
  CurveSettings<Real50> wide{.dimension = 3, .noise_variance = Real50("0.2"), .task_variance = Real50("0.5")};
  const auto with = reference_curves(wide, {2, 9});
  wide.query_noise = false;
  wide.per_dimension = true;
  const auto without = reference_curves(wide, {2, 9});
  for (std::size_t c = 0; c < with.size(); ++c) {
    for (const std::size_t k : {0, 1}) {
      if (!(with[c].values[k] < Real50(1e9))) continue;
      const Real50 expected = (with[c].values[k] - Real50("0.2")) / 3;
      CHECK(abs(without[c].values[k] - expected) < Real50("1e-45"));
    }
  }
}

}  // namespace incontext::testing::reference_curves_50digits_test
