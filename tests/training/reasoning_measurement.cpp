#include "incontext/training/reasoning_measurement.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace incontext::testing {

using training::ReasoningMeasurement;

TEST_CASE("the Eureka moment is the first held-out accuracy above 0.7, and the plateau is before it", "[training]") {
  const auto at = [](std::int64_t step, double loss, double accuracy) {
    return ReasoningMeasurement{.step = step, .loss = loss, .held_out_accuracy = accuracy};
  };
  const std::vector<ReasoningMeasurement> course{at(0, 2.4, 0.1),   at(10, 0.70, 0.5), at(20, 0.64, 0.5),
                                                 at(40, 0.62, 0.5), at(50, 0.50, 0.7), at(60, 0.10, 0.9),
                                                 at(70, 0.10, 1.0)};
  CHECK(training::eureka_step(course) == 60);
  CHECK(std::abs(training::plateau_loss(course, 1).value() - 0.63) <= 1e-15);  // the slowest fall per step
  CHECK(std::abs(training::plateau_loss(course, 1).value() - 0.10) > 0.1);     // what follows the moment is no plateau
  CHECK_FALSE(training::eureka_step({course.begin(), course.begin() + 5}));    // 0.7 itself is not above 0.7
  CHECK_FALSE(training::eureka_step({}));
  CHECK_FALSE(training::plateau_loss({}, 1));
  CHECK_FALSE(training::plateau_loss(course, 0.2));
}

}  // namespace incontext::testing
