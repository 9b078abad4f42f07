#include "incontext/scoring/approximate_softmax_error_bounds.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

std::vector<double> error_of(const std::vector<double>& z) {
  std::vector<double> out(z.size());
  approximate_softmax_error(ApproximateSoftmax<double>{}, z, out);
  return out;
}

/// Smallest error of the first score when k others are t above it and the rest R - t below it, over a fine grid of t.
double smallest_on_grid(int n, double range) {
  double smallest = 0;
  for (int k = 0; k < n; ++k) {
    for (int step = 0; step <= 2000; ++step) {
      const double rise = range * step / 2000;
      const double others = k * std::exp(rise) + (n - 1 - k) * std::exp(rise - range);
      const double mean = (k * rise + (n - 1 - k) * (rise - range)) / n;
      smallest = std::min(smallest, 1 / (1 + others) - (1 - mean) / n);
    }
  }
  return smallest;
}

}  // namespace

TEST_CASE("no row of the range has an error outside the bounds", "[scoring]") {
  Random random(141);
  for (const int n : {2, 3, 5, 20}) {
    for (const double range : {0.1, 1.0, 3.0, 10.0}) {
      const double above = approximate_softmax_error_supremum(n, range);
      const double below = approximate_softmax_error_infimum(n, range).value;
      for (int trial = 0; trial < 3000; ++trial) {
        std::vector<double> z(static_cast<std::size_t>(n));
        for (double& x : z) x = range * (trial % 2 == 0 ? random.uniform() : std::floor(3 * random.uniform()) / 2);
        for (const double e : error_of(z)) {
          CHECK(e <= above * (1 + 1e-12) + 1e-15);
          CHECK(e >= below * (1 + 1e-12) - 1e-15);
        }
      }
    }
  }
}

TEST_CASE("the bounds are attained by the rows that are named", "[scoring]") {
  for (const int n : {2, 3, 5, 20, 300}) {
    for (const double range : {0.01, 0.5, 2.0, 8.0, 30.0}) {
      const double turn = n == 2 ? 0 : std::min(range, 2 * std::log(n - 1.0));
      std::vector<double> low(static_cast<std::size_t>(n), range), high(static_cast<std::size_t>(n), 0.0);
      low[0] = 0;
      high[0] = turn;
      const double attained = std::max(error_of(low)[0], error_of(high)[0]);
      CHECK(std::abs(approximate_softmax_error_supremum(n, range) / attained - 1) < 1e-9);

      const auto infimum = approximate_softmax_error_infimum(n, range);
      std::vector<double> z(static_cast<std::size_t>(n), infimum.rise - range);
      z[0] = 0;
      for (std::ptrdiff_t k = 1; k <= infimum.high_count; ++k) z[static_cast<std::size_t>(k)] = infimum.rise;
      INFO("n " << n << ", range " << range);
      CHECK(std::abs(error_of(z)[0] / infimum.value - 1) < 1e-9);
      CHECK(infimum.value <= 0);
    }
  }
}

TEST_CASE("the closed infimum is the smallest value of the search over both levels and every count", "[scoring]") {
  for (const int n : {2, 3, 4, 7, 25}) {
    for (const double range : {0.25, 1.0, 4.0, 9.0, 20.0, 35.0}) {
      const double searched = smallest_on_grid(n, range);
      const double closed = approximate_softmax_error_infimum(n, range).value;
      INFO("n " << n << ", range " << range << ": " << closed << " against " << searched);
      CHECK(closed <= searched + 1e-14);
      CHECK(std::abs(closed / searched - 1) < 1e-4);
    }
  }
}

TEST_CASE("the infimum keeps its digits at a small range, where its two terms cancel", "[scoring][accuracy]") {
  struct Case {
    int n;
    double range;
    double value;  // -(n - 1) / n^2 max_k (log(1 + k / (n - 1) (e^R - 1)) - k / (n - 1) R) at 50 digits
  };
  for (const auto& [n, range, value] :
       {Case{3, 0x1p-20, -2.526374171591371589e-14}, Case{4, 0x1p-10, -1.9870370237924029616e-8},
        Case{7, 0x1p-4, -5.9779811979210998507e-5}}) {
    INFO("n " << n << ", range " << range);
    const double bound = 32 * 2.3e-16 * range * range;
    CHECK(std::abs(approximate_softmax_error_infimum(n, range).value - value) <= bound);
    CHECK_FALSE(std::abs(approximate_softmax_error_infimum(n, range).value * (1 + 1e-12) - value) <= bound / 1000);
  }
}

TEST_CASE("bounds at their limits", "[scoring]") {
  CHECK(approximate_softmax_error_supremum(5, 0.0) == 0);
  CHECK(approximate_softmax_error_infimum(5, 0.0).value == 0);
  CHECK(approximate_softmax_error_supremum(1, 3.0) == 0);
  CHECK(approximate_softmax_error_infimum(1, 3.0).value == 0);
  CHECK(std::abs(approximate_softmax_error_infimum(2, 3.0).value + approximate_softmax_error_supremum(2, 3.0)) < 1e-16);
  CHECK(std::abs(1e9 * approximate_softmax_error_supremum(1000000000, 2.0) - (std::exp(2.0) - 3)) < 1e-6);
  CHECK(std::isnan(approximate_softmax_error_supremum(0, 1.0)));
  CHECK(std::isnan(approximate_softmax_error_supremum(3, -1.0)));
  CHECK(std::isnan(approximate_softmax_error_infimum(3, nan).value));
  CHECK(std::isnan(approximate_softmax_error_infimum(3, infinity).value));
  CHECK(std::isnan(approximate_softmax_error_at_gap(3, infinity)));
  CHECK(approximate_softmax_error_at_gap(1, 2.0) == 0);
}

}  // namespace incontext::testing
