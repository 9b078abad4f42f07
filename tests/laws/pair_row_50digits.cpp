#include "incontext/scoring/softmax.hpp"
#include "laws/pairs_of_two_scores.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing::pair_row_50digits_test {

TEST_CASE("the pairs of two scores in 50 digits") {
  const scoring::Softmax<Real50> softmax{Real50(1)};
  const Real50 x(0.75), y(-0.5);
  const auto found = pair<Real50>(softmax, softmax, 2, x, y), exact = of_two_scores<Real50>(x, y);
  CHECK(static_cast<double>(abs(found.overlap / exact.overlap - 1)) < 1e-30);
  CHECK(static_cast<double>(abs(found.mean_score_square / exact.mean_score_square - 1)) < 1e-30);
}

}  // namespace incontext::testing::pair_row_50digits_test
