#include "incontext/laws/two_group_row.hpp"

#include "support/catch.hpp"
#include "support/real50.hpp"

/// The same template at 50 digits.
namespace two_group_row_50digits_test {

using namespace incontext::laws;
using namespace incontext::testing;

TEST_CASE("two groups of equal scores: rational functions of e^-gap at 50 digits", "[laws][50digits]") {
  const Real50 gap("0.75"), n(3), m(4);
  const auto row = two_group_row(ScoreGroup<Real50>{n, Real50(0), Real50(-gap)}, ScoreGroup<Real50>{m, 0, 0});
  const Real50 odds = exp(Real50(-gap)), sum = n * odds + m, a = odds / sum, b = Real50(1) / sum;
  const Real50 squares = n * a * a + m * b * b;
  const auto near = [](const Real50& found, const Real50& exact) {
    return abs(Real50(found - exact)) < Real50(1e-28) * exact;
  };
  CHECK(near(row.groups[0].weight, Real50(n * a)));
  CHECK(near(row.groups[0].ipr, Real50(n * a * a)));
  CHECK(near(row.groups[0].squared_gradient, Real50(n * a * a * (1 - 2 * a + squares))));
  CHECK(near(row.groups[1].squared_gradient, Real50(m * b * b * (1 - 2 * b + squares))));
}

}  // namespace two_group_row_50digits_test
