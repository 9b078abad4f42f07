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

TEST_CASE("the interval is as narrow as the function, however narrow that is", "[laws]") {
  const double width = GENERATE(1e-2, 1e-4, 1e-7), start = GENERATE(0.0, 1.0);
  CAPTURE(width, start);
  const auto f = [=](double x) { return -(x / width) * (x / width); };
  const auto interval = laws::log_concave_support(f, start * width, 36.0);
  for (const double end : {-interval.lower, interval.upper}) {
    CHECK(end >= 6.0 * width);        // the drop
    CHECK(end <= 2.0 * 7.1 * width);  // twice its distance from a start that is off by one width
  }
}
