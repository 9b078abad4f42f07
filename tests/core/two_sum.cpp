#include "incontext/core/two_sum.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "incontext/core/pack.hpp"
#include "support/catch.hpp"

namespace two_sum_test {

using namespace incontext;

TEST_CASE("what one addition loses to rounding is kept exactly, whichever term is larger", "[core]") {
  for (const double a : {1.0, -1e16, 3e-20, 0.1}) {
    for (const double b : {1e16, 0.1, -1.0, 7e-30, 0.0}) {
      double total = a, lost = 0;
      math::add_compensated(total, lost, b);
      INFO(a << " + " << b);
      CHECK(total == a + b);
      // total is the double nearest to the sum, and both differences below are exact in one of the two orders
      const double larger = std::abs(a) < std::abs(b) ? b : a, smaller = std::abs(a) < std::abs(b) ? a : b;
      CHECK(lost == smaller - (total - larger));
    }
  }
}

TEST_CASE("a sum of terms that cancel keeps its digits, which the plain sum does not", "[core]") {
  const std::vector<double> terms{1.0, 1e100, 1.0, -1e100, 0.5};
  double total = 0, lost = 0, plain = 0;
  for (const double term : terms) {
    math::add_compensated(total, lost, term);
    plain += term;
  }
  CHECK(total + lost == 2.5);
  CHECK(plain != 2.5);

  double tenths = 0, lost_tenths = 0, plain_tenths = 0;
  for (int i = 0; i < 1000000; ++i) {
    math::add_compensated(tenths, lost_tenths, 0.1);
    plain_tenths += 0.1;
  }
  CHECK(std::abs((tenths + lost_tenths) / 1e5 - 1) <= 2 * std::numeric_limits<double>::epsilon());
  CHECK(std::abs(plain_tenths / 1e5 - 1) > 1e-12);
}

TEST_CASE("an infinite term leaves the plain sum in the total", "[core]") {
  double total = 1, lost = 0;
  math::add_compensated(total, lost, std::numeric_limits<double>::infinity());
  CHECK(total == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(lost));
}

TEST_CASE("the lanes of a pack are summed as numbers are", "[core]") {
  using P = Pack<double>;
  P total = pack_of(0.0), lost = pack_of(0.0);
  double one_total = 0, one_lost = 0;
  for (const double term : {0.1, 1e17, 0.7, -1e17}) {
    math::add_compensated<P>(total, lost, pack_of(term));
    math::add_compensated(one_total, one_lost, term);
  }
  double totals[pack_width<double>], losts[pack_width<double>];
  store_pack(totals, total);
  store_pack(losts, lost);
  for (int l = 0; l < pack_width<double>; ++l) {
    CHECK(totals[l] == one_total);
    CHECK(losts[l] == one_lost);
  }
}

}  // namespace two_sum_test
