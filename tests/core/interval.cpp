#include "incontext/core/interval.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace interval_test {

using incontext::Interval;

TEST_CASE("an interval contains its ends, and never NaN", "[core]") {
  const Interval<double> interval{-1, 2};
  for (const double inside : {-1.0, 0.0, 2.0}) CHECK(interval.contains(inside));
  for (const double outside : {-1.0000001, 2.0000001, std::nan("")}) CHECK_FALSE(interval.contains(outside));
  CHECK_FALSE(Interval<double>{std::nan(""), 2}.contains(0));
  CHECK_FALSE(Interval<double>{-1, std::nan("")}.contains(0));
}

}  // namespace interval_test
