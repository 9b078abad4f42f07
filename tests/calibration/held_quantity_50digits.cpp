#include "incontext/calibration/held_quantity.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

TEST_CASE("at 50 digits the inverse temperature that was solved in double holds the quantity") {
  using calibration::Held;
  const Held held = GENERATE(Held::entropy, Held::largest_weight, Held::needle_weight);
  const calibration::HeadScores<double> scores{.score_stddev = 1.25, .gap = 6};
  const calibration::HeadScores<Real50> precise{.score_stddev = Real50(1.25), .gap = Real50(6)};
  const double target = calibration::held_value<double>(held, scores, 4, 1.0);
  const auto solved = calibration::holding_temperature<double>(held, scores, 16, target);
  const Real50 exact = calibration::held_value<Real50>(held, precise, 16, Real50(solved.inverse_temperature));
  CHECK(std::abs(static_cast<double>(exact / Real50(target) - 1)) < 1e-10);
  // a millionth more does not hold it
  const double off = calibration::held_value<double>(held, scores, 16, solved.inverse_temperature * (1 + 1e-6));
  CHECK(std::abs(off / target - 1) > 1e-8);
}

}  // namespace incontext::testing
