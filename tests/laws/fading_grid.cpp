#include "incontext/laws/fading_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "laws/refusal.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// The sum over the grid, term by term from the smallest, without its largest term.
template <class T>
long double direct_log_sum(std::int64_t n, T beta) {
  const long double b = std::abs(static_cast<long double>(beta)), last = static_cast<long double>(n - 2);
  long double others = 0;
  for (std::int64_t k = n - 2; k >= 1; --k) others += std::exp(-b * static_cast<long double>(k) / last);
  return (T(0) < beta ? b : 0) + std::log1p(others);
}

}  // namespace

TEMPLATE_TEST_CASE("the grid's sum is the sum of its terms", "[laws]", float, double) {
  using T = TestType;
  Worst sums, thresholds, weights;
  for (const std::int64_t n : {3, 4, 10, 1000, 100000}) {
    for (const double x : {-90.0, -3.0, -1e-3, -1e-30, 0.0, 1e-30, 1e-3, 0.7, 6.0, 80.0, 600.0}) {
      const T beta = T(x), count = T(static_cast<double>(n));
      const long double exact = direct_log_sum(n, beta);
      sums.add(eps_from(grid_log_sum(count, beta), exact, exact), "n ", n, ", x ", x);
      for (const double z : {-0.5, 0.3, 1.0, 2.5}) {
        const long double exponent = static_cast<long double>(beta) * static_cast<long double>(T(z)) - exact;
        const long double weight = 1 / (1 + std::exp(-exponent));
        if (weight < static_cast<long double>(std::numeric_limits<T>::min())) continue;
        const long double scale = weight * (1 + exact + std::abs(static_cast<long double>(beta) * z));
        weights.add(eps_from(grid_weight(count, beta, T(z)), weight, scale), "n ", n, ", x ", x, ", z ", z);
      }
      if (!(T(0) < beta)) continue;
      const long double threshold = exact / static_cast<long double>(beta);
      if (threshold > 1e30L) continue;
      thresholds.add(eps_from(grid_threshold(count, beta), threshold, threshold), "n ", n, ", x ", x);
    }
  }
  CHECK(sums <= 8);
  CHECK(thresholds <= 10);
  CHECK(weights <= 8);
}

TEST_CASE("the grid's threshold takes half of the weight and the width spans 10 to 90 percent", "[laws]") {
  for (const double n : {10.0, 1e3, 1e9, 1e15}) {
    for (const double beta : {1.0, 0.43 * std::log(n), 40.0}) {
      const double threshold = grid_threshold(n, beta), width = logistic_width(beta);
      CHECK(std::abs(grid_weight(n, beta, threshold) - 0.5) < 1e-13 * (1 + beta * threshold));
      CHECK(std::abs(grid_weight(n, beta, threshold + width / 2) - 0.9) < 1e-13 * (1 + beta * threshold));
      CHECK(std::abs(grid_weight(n, beta, threshold - width / 2) - 0.1) < 1e-13 * (1 + beta * threshold));
    }
  }
  CHECK(std::abs(grid_log_sum(1e15, 1.0) / std::log(1e15 * std::expm1(1.0)) - 1) < 1e-14);
}

TEST_CASE("SSMax on the grid reaches 1 + 1/s with a lag that the bounded law gives", "[laws]") {
  for (const double s : {0.43, 1.0}) {
    for (const double n : {1e8, 1e12, 1e15}) {
      const double exact = grid_threshold(n, s * std::log(n));
      CHECK(s * std::log(n) > 6);
      CHECK(std::abs(ssmax_bounded_threshold(n, s, BoundedScores<double>{1}) - exact) < 2e-4);
      // negative controls: the limit itself, and the law of competitors with finitely many values
      CHECK_FALSE(std::abs(1 + 1 / s - exact) < 0.05);
      CHECK_FALSE(std::abs(ssmax_bounded_threshold(n, s, BoundedScores<double>{1, 0}) - exact) < 0.05);
    }
  }
  // the values in the caption of the figure, at the figure's own size
  CHECK_FALSE(std::abs(1 + 1 / 0.43 - grid_threshold(1000.0, 0.43 * std::log(1000.0))) < 0.3);
}

TEST_CASE("grid rows refuse what is no grid", "[laws]") {
  CHECK(refuses([] { grid_log_sum(2.0, 1.0); }, {"grid_log_sum", "row_length", "value = 2", "at least 3"}));
  CHECK(refuses([] { grid_threshold(9.0, 0.0); }, {"grid_threshold", "inverse_temperature", "value = 0"}));
  CHECK(refuses([] { grid_threshold(9.0, -1.0); }, {"inverse_temperature", "-1"}));
  CHECK(refuses([] { logistic_width(-2.0); }, {"inverse_temperature", "-2"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { grid_log_sum(x, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { grid_log_sum(5.0, x); }, {"inverse_temperature"}));
    CHECK(refuses([x] { grid_weight(5.0, 1.0, x); }, {"z_max"}));
    CHECK(refuses([x] { logistic_width(x); }, {"inverse_temperature"}));
  }
}

}  // namespace incontext::testing
