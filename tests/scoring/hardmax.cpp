#include "incontext/scoring/hardmax.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("hardmax shares the weight among the largest scores", "[scoring]") {
  CHECK(weights_of(Hardmax<double>{}, {1, 3, 3, -2, 3}) == std::vector<double>{0, 1.0 / 3, 1.0 / 3, 0, 1.0 / 3});
  CHECK(weights_of(Hardmax<float>{}, {1, 3, 2}) == std::vector<float>{0, 1, 0});
  std::vector<double> log_row(3);
  log_weights(Hardmax<double>{}, std::vector<double>{2, 5, 5}, log_row);
  CHECK(log_row[0] == -infinity);
  CHECK(std::abs(log_row[1] + std::log(2.0)) < 1e-16);
  log_weights(Hardmax<double>{}, std::vector<double>{2, 5, 4}, log_row);
  CHECK(log_row[1] == 0);
  CHECK_FALSE(std::signbit(log_row[1]));
}

TEST_CASE("hardmax has derivative zero at a unique largest score and none at a tie", "[scoring]") {
  CHECK(jvp_of(Hardmax<double>{}, {1, 3, 2}, {1, 1, 1}) == std::vector<double>{0, 0, 0});
  CHECK(vjp_of(Hardmax<double>{}, {1, 3, 2}, {1, 1, 1}) == std::vector<double>{0, 0, 0});
  CHECK(all_nan(jvp_of(Hardmax<double>{}, {1, 3, 3}, {1, 1, 1})));
  CHECK(all_nan(vjp_of(Hardmax<double>{}, {1, 3, 3}, {1, 1, 1})));
}

}  // namespace incontext::testing
