#include "incontext/classification/two_class_margin.hpp"

#include <cmath>
#include <cstdint>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// Mean margin of the adaptive step on the circle with one point per class, by sums over the angles of the two points and
/// of the query: the midpoint rule on three angles in (-pi/2, pi/2), the second point mirrored.
double two_points(double kappa, double gain, bool is_key) {
  const int steps = 160;
  const double pi = std::acos(-1.0);
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    const double query = pi * ((i + 0.5) / steps - 0.5);
    for (int a = 0; a < steps; ++a) {
      const double own = std::exp(kappa * (std::cos(pi * ((a + 0.5) / steps - 0.5) - query) - 1));
      for (int b = 0; b < steps; ++b) {
        const double other = std::exp(kappa * (-std::cos(pi * ((b + 0.5) / steps - 0.5) - query) - 1));
        sum += (own - other) / (own + other + (is_key ? 1 : 0));
      }
    }
  }
  return gain * sum / (steps * steps * steps);
}

}  // namespace

TEST_CASE("the mean margin of attention on one point per class of the circle is its triple integral",
          "[classification]") {
  for (const double kappa : {0.5, 3.0}) {
    for (const QueryToken token : {QueryToken::excluded, QueryToken::included}) {
      const bool is_key = token == QueryToken::included;
      const double brute = two_points(kappa, 4.0, is_key);
      CHECK(std::abs(mean_adaptive_margin<double>(2, kappa, 2, 4.0, token) / brute - 1) <= 2e-4);
      CHECK(std::abs(mean_adaptive_margin<double>(2, kappa, 4, 4.0, token) / brute - 1) > 2e-3);
    }
  }
}

TEST_CASE("the mean margin of attention meets its limits", "[classification]") {
  for (const std::int64_t d : {2, 3, 10}) {
    const double m = sphere_constants<double>(d).mean_absolute;
    const double wide = mean_adaptive_margin<double>(d, 1e-6, 10, 2e6, QueryToken::included);
    CHECK(std::abs(wide / (2 * m * m * 10 / 11) - 1) <= 1e-5);
    const double scale = std::exp(log_kernel_mean<double>(d, 3.0) - 3);
    const double contrast = kernel_margin<double>(d, 3.0, 2, 1.0).mean / scale;
    CHECK(std::abs(mean_adaptive_margin<double>(d, 3.0, 2'000'000, 1.0, QueryToken::excluded) / contrast - 1) <= 1e-5);
    CHECK(std::abs(mean_adaptive_margin<double>(d, 3.0, 20, 1.0, QueryToken::excluded) / contrast - 1) > 1e-3);
  }
}

TEST_CASE("margins refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { linear_margin<double>(1, 4, 1.0); }), "dimension", "value = 1"));
  CHECK(names(message_of([] { linear_margin<double>(3, 5, 1.0); }), "context_length", "value = 5"));
  CHECK(names(message_of([] { kernel_margin<double>(3, -2.0, 4, 1.0); }), "kappa", "value = -2"));
  CHECK(names(message_of([] { mean_adaptive_margin<double>(3, 1e6, 4, 1.0, QueryToken::included); }), "kappa",
              "value = 1000000"));
}

}  // namespace incontext::testing
