#include "incontext/classification/sphere_constants.hpp"

#include <cmath>
#include <limits>

#include "classification/sphere.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEMPLATE_TEST_CASE("sphere constants satisfy their recurrences", "[classification]", float, double, long double) {
  using T = TestType;
  const T eps = std::numeric_limits<T>::epsilon();
  for (int d = 2; d < 4000; d = d * 3 / 2 + 1) {
    const auto low = sphere_constants<T>(d), high = sphere_constants<T>(d + 2);
    const T n = T(d);
    CHECK(std::abs(high.density / low.density * (n - 1) / n - 1) <= 16 * eps);
    CHECK(std::abs(high.mean_absolute / low.mean_absolute * (n + 1) / n - 1) <= 16 * eps);
    CHECK(std::abs(high.log_cap - low.log_cap - std::log(2 * n / (n + 1))) <= 16 * eps * (1 + n));
  }
}

TEST_CASE("sphere constants are a density, a mean and the share of a small cap", "[classification]") {
  for (const int d : {2, 3, 5, 12}) {
    const auto constants = sphere_constants<double>(d);
    const double mean = angle_mean(d, [](double a) { return std::abs(std::cos(a)); });
    CHECK(std::abs(constants.mean_absolute / mean - 1) <= 1e-12);
    // the integral of sin^(d-2) over [0, pi] by 4000 midpoints
    double total = 0, cap = 0;
    const double pi = std::acos(-1.0), small = 1e-3;
    for (int i = 0; i < 4000; ++i) {
      total += std::pow(std::sin(pi * (i + 0.5) / 4000), d - 2) * pi / 4000;
      const double edge = std::acos(1 - small);
      cap += std::pow(std::sin(edge * (i + 0.5) / 4000), d - 2) * edge / 4000;
    }
    CHECK(std::abs(constants.density * total - 1) <= 1e-6);
    CHECK(std::abs(constants.density * cap / (constants.cap * std::pow(small, (d - 1) / 2.0)) - 1) <= 2e-3);
    CHECK(std::abs(sphere_constants<double>(d + 1).mean_absolute / mean - 1) > 0.01);
  }
  CHECK(std::isinf(sphere_constants<double>(100'000).cap));
  CHECK(std::isfinite(sphere_constants<double>(100'000).log_cap));
  CHECK(names(message_of([] { sphere_constants<double>(1); }), "dimension", "value = 1", "at least 2"));
}

}  // namespace incontext::testing
