#include "incontext/calibration/visible_scores.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

using namespace incontext::calibration;

namespace {

VisibleScores kept(std::vector<double>& row) { return keep_visible(row); }

}  // namespace

TEST_CASE("masks of every kind are left out, and scores keep their order", "[calibration]") {
  for (const double mask : {double(-INFINITY), -65504.0, -1e9, -3.4e38, -1e4, -9997.0, -10003.0}) {
    std::vector<double> row{3, mask, -20, mask, 0.5};
    const VisibleScores visible = kept(row);
    CAPTURE(mask);
    CHECK(visible.problem == RowProblem::none);
    REQUIRE(visible.count == 3);
    CHECK(std::vector<double>(row.begin(), row.begin() + 3) == std::vector<double>{3, -20, 0.5});
    CHECK(visible.lowest == -20);
    CHECK(visible.highest == 3);
  }
  std::vector<double> none{-INFINITY, -1e9};
  CHECK(kept(none).count == 0);
}

TEST_CASE("what is neither score nor mask is a problem", "[calibration]") {
  std::vector<double> close{0, -4000, -6000};
  CHECK(kept(close).problem == RowProblem::between_score_and_mask);
  CHECK(kept(close).problem_value == -6000);
  std::vector<double> nan{0, NAN, 1}, infinite{0, INFINITY};
  CHECK(kept(nan).problem == RowProblem::not_a_number);
  CHECK(kept(infinite).problem == RowProblem::infinite);
}

TEST_CASE("rows that sum to 1 without a negative number may be weights", "[calibration]") {
  std::vector<double> weights{0.25, 0.5, 0.25, 0}, scores{0.5, 1, -0.5}, single{1};
  CHECK(kept(weights).sums_to_one());
  CHECK_FALSE(kept(scores).sums_to_one());
  CHECK_FALSE(kept(single).sums_to_one());
}
