#include "incontext/calibration/held_quantity.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

TEST_CASE("at 50 digits the solved inverse temperature holds the quantity") {
  using calibration::Held;
  const Held held = GENERATE(Held::entropy, Held::largest_weight, Held::needle_weight);
  const calibration::HeadScores<double> scores{.score_stddev = 1.25, .gap = 6};
  const calibration::HeadScores<Real50> precise{.score_stddev = Real50(1.25), .gap = Real50(6)};
  const double target = calibration::held_value<double>(held, scores, 64, 1.0);
  const auto solved = calibration::holding_temperature<double>(held, scores, 512, target);
  const Real50 trained = calibration::held_value<Real50>(held, precise, 64, Real50(1));
  const Real50 longer = calibration::held_value<Real50>(held, precise, 512, Real50(solved.inverse_temperature));
  CHECK(std::abs(static_cast<double>(longer / trained - 1)) < 1e-9);
  // a millionth more does not hold it
  const Real50 off =
      calibration::held_value<Real50>(held, precise, 512, Real50(solved.inverse_temperature * (1 + 1e-6)));
  CHECK(std::abs(static_cast<double>(off / trained - 1)) > 1e-8);
}

}  // namespace incontext::testing
