#include "incontext/laws/log_concave.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace incontext;

TEST_CASE("the interval around a maximum ends beyond the drop, and not far beyond", "[laws]") {
  const double place = GENERATE(-300.0, 0.0, 2.5, 1e4), width = GENERATE(1.0, 3.0, 50.0), drop = GENERATE(1.0, 40.0);
  CAPTURE(place, width, drop);
  const auto f = [=](double x) {
    const double u = (x - place) / width;
    return u < 0 ? -u * u : -std::exp(u) + u + 1;
  };
  const auto interval = laws::log_concave_support(f, place + 3 * width, drop);
  CHECK(interval.lower < place);
  CHECK(place < interval.upper);
  CHECK(f(interval.lower) <= -drop);  // the maximum is 0
  CHECK(f(interval.upper) <= -drop);
  // a sixteenth nearer, the drop is not yet reached, except for the one nat by which the maximum that was found may be
  // too low
  const double shorter = 1.0 / 16;
  CHECK(f(interval.lower + shorter * (place + width - interval.lower)) > -1 - drop);
  CHECK(f(interval.upper - shorter * (interval.upper - place + width)) > -1 - drop);
}
