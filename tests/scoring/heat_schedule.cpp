#include "incontext/scoring/heat_schedule.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace incontext::testing {

using scoring::HeatSchedule;
using scoring::HeatShape;

TEST_CASE("every shape starts at the start temperature and ends at the end temperature, exactly", "[scoring]") {
  for (const auto shape : {HeatShape::half_cosine_inverse, HeatShape::full_cosine_inverse, HeatShape::linear_inverse,
                           HeatShape::half_linear}) {
    for (const int epochs : {2, 3, 10, 301}) {
      const HeatSchedule<double> schedule{0.25, 8, epochs, shape};
      CHECK(schedule.temperature(0) == 0.25);
      CHECK(schedule.temperature(epochs - 1) == 8);
      CHECK(schedule.inverse_temperature(epochs - 1) == 0.125);
      double last = 0;
      for (int epoch = 0; epoch < epochs; ++epoch) {
        CHECK(schedule.temperature(epoch) >= last);
        last = schedule.temperature(epoch);
        CHECK(std::abs(schedule.temperature(epoch) * schedule.inverse_temperature(epoch) - 1) < 1e-15);
      }
    }
  }
}

TEST_CASE("half shapes have arrived at half of the epochs, and the cosine is at its middle at a quarter", "[scoring]") {
  const HeatSchedule<double> cosine{0.25, 8, 100};
  CHECK(cosine.temperature(50) == 8);
  CHECK(cosine.temperature(49) < 8);
  CHECK(std::abs(cosine.inverse_temperature(25) - (4 + 0.125) / 2) < 1e-14);
  CHECK(std::abs(cosine.inverse_temperature(10) - (0.125 + 3.875 * (1 + std::cos(std::acos(-1.0) / 5)) / 2)) < 1e-14);
  const HeatSchedule<double> line{2, 6, 100, HeatShape::half_linear};
  CHECK(line.temperature(25) == 4);
  CHECK(line.temperature(50) == 6);
  const HeatSchedule<double> full{0.25, 8, 101, HeatShape::full_cosine_inverse};
  CHECK(full.temperature(51) < 8);
  CHECK(std::abs(full.inverse_temperature(50) - (4 + 0.125) / 2) < 1e-14);
  CHECK(HeatSchedule<double>{0.25, 8, 10, HeatShape::constant}.temperature(9) == 0.25);
}

TEST_CASE("a single epoch is scheduled, and what is outside of it is NaN", "[scoring]") {
  CHECK(HeatSchedule<double>{0.25, 8, 1}.temperature(0) == 8);
  CHECK(HeatSchedule<double>{0.25, 8, 1, HeatShape::linear_inverse}.temperature(0) == 8);
  CHECK(HeatSchedule<double>{0.25, 8, 1, HeatShape::constant}.temperature(0) == 0.25);
  CHECK(std::isnan(HeatSchedule<double>{0.25, 8, 4}.temperature(4)));
  CHECK(std::isnan(HeatSchedule<double>{0.25, 8, 4}.temperature(-1)));
  CHECK(std::isnan(HeatSchedule<double>{0.25, 8, 0}.temperature(0)));
  CHECK(std::isnan(HeatSchedule<double>{-1, 8, 4}.temperature(1)));
  CHECK(std::isnan(HeatSchedule<double>{0.25, 0, 4}.temperature(1)));
  CHECK(std::isnan(HeatSchedule<float>{0.25F, 0, 4, HeatShape::half_linear}.inverse_temperature(1)));
}

}  // namespace incontext::testing
