#include "incontext/numerics/minimum.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace minimum_test {

using incontext::numerics::minimum_between;
using incontext::numerics::SearchPlace;

TEST_CASE("a minimum inside the range is found, and called so", "[numerics]") {
  for (const double at : {0.3, 2.0, 4.9}) {
    const auto found = minimum_between<double>([&](double x) { return 1 + (x - at) * (x - at); }, 0.0, 5.0);
    CAPTURE(at);
    CHECK(std::abs(found.argument - at) < 1e-7);
    CHECK(found.value == Approx(1).epsilon(1e-14));
    CHECK(found.place == SearchPlace::inside);
    CHECK(found.inside() == found.argument);
  }
}

TEST_CASE("a function that falls up to an end, or is flat up to there, has no minimum", "[numerics]") {
  const auto place = [](auto f) { return minimum_between<double>(f, 1.0, 9.0).place; };
  CHECK(place([](double x) { return 1 / x; }) == SearchPlace::highest);
  CHECK(place([](double x) { return x; }) == SearchPlace::lowest);
  CHECK(place([](double x) { return -1 - std::exp(-x * x * x) - x * 1e-3; }) == SearchPlace::lowest);
  CHECK(place([](double x) { return 1 + std::exp(-8 * x); }) ==
        SearchPlace::highest);  // flat in double from x = 4.5 on
  CHECK(place([](double) { return 2.0; }) == SearchPlace::lowest);
  CHECK(place([](double x) { return 1 + 1e-9 * (x - 5) * (x - 5); }) == SearchPlace::inside);  // shallow, and yet one
  const auto falling = minimum_between<double>([](double x) { return 1 / x; }, 1.0, 9.0);
  CHECK(falling.argument == 9);
  CHECK(falling.value == 1.0 / 9);
  CHECK(std::isnan(falling.inside()));
}

TEST_CASE("the lower of two valleys is found on a grid, and not by Brent's method alone", "[numerics]") {
  using incontext::numerics::minimum_on_grid;
  // a wide valley at 4, and a narrow one at 0.5 that is deeper
  const auto two = [](double x) {
    return 1 - std::exp(-(x - 4) * (x - 4)) - 3 * std::exp(-40 * (x - 0.5) * (x - 0.5));
  };
  const auto found = minimum_on_grid<double>(two, 0.0, 6.0, 20);
  CHECK(std::abs(found.argument - 0.5) < 1e-5);
  CHECK(found.place == SearchPlace::inside);
  CHECK(std::abs(minimum_between<double>(two, 0.0, 6.0).argument - 4) < 1e-5);
  const auto place = [](auto f) { return minimum_on_grid<double>(f, 1.0, 9.0, 4).place; };
  CHECK(place([](double x) { return 1 / x; }) == SearchPlace::highest);
  CHECK(place([](double x) { return x; }) == SearchPlace::lowest);
  // flat around the least argument, but not to an end of the range
  CHECK(place([](double x) { return std::abs(x - 5) < 3 ? 1.0 : 2.0; }) == SearchPlace::inside);
}

}  // namespace minimum_test
