#include "incontext/laws/gaussian_needle_approximations.hpp"

#include <algorithm>
#include <cmath>

#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// Largest distance from the exact weight over scaled gaps around the threshold, at N = 1000.
template <class Approximation>
Worst worst_error(double theta, const Approximation& approximation, double* log_partition = nullptr) {
  const double n = 1000, x = theta * critical_score_stddev(n);
  const double middle = gaussian_row(n, x).log_partition;
  if (log_partition != nullptr) *log_partition = middle;
  Worst worst;
  for (double step = -8; step <= 8; step += 0.5) {
    const double gap = middle + step * (1 + x / 3);
    worst.add(std::abs(approximation(n, x, gap) - needle_weight(n, x, gap).value), "exponent ", gap);
  }
  return worst;
}

}  // namespace

TEST_CASE("every approximation is as good as stated in its phase, and no better outside", "[laws]") {
  double log_partition = 0;  // of the row that worst_error uses
  const auto quenched = [&](double, double, double e) { return needle_weight_quenched(log_partition, e); };
  const auto annealed = [](double n, double x, double e) { return needle_weight_annealed(n, x, e); };
  const auto second = [](double n, double x, double e) { return needle_weight_second_order(n, x, e); };
  const auto normal = [](double n, double x, double e) { return needle_weight_log_normal(n, x, e).value; };
  const auto stable = [](double n, double x, double e) { return needle_weight_stable(n, x, e).value; };
  const auto largest = [](double n, double x, double e) { return needle_weight_largest(n, x, e); };

  CHECK(worst_error(0.2, annealed) < 2e-4);
  CHECK(worst_error(0.2, quenched, &log_partition) < 4e-5);
  CHECK(worst_error(0.2, second) < 1e-7);
  CHECK(worst_error(0.2, normal) < 1e-7);
  CHECK(worst_error(0.4, second) < 6e-5);
  CHECK(worst_error(0.4, normal) < 5e-5);
  CHECK(worst_error(0.6, quenched, &log_partition) < 0.004);
  CHECK(worst_error(0.6, normal) < 0.01);
  CHECK(worst_error(1.0, quenched, &log_partition) < 0.03);
  CHECK(worst_error(1.1, stable) < 0.13);
  CHECK(worst_error(1.5, stable) < 0.035);
  CHECK(worst_error(2.5, stable) < 0.017);
  CHECK(worst_error(1.5, largest) < 0.16);
  CHECK(worst_error(2.5, largest) < 0.06);

  CHECK_FALSE(worst_error(1.0, annealed) < 0.1);
  CHECK_FALSE(worst_error(0.8, normal) < 0.1);
  CHECK_FALSE(worst_error(1.0, second) < 1);
  CHECK_FALSE(worst_error(2.5, quenched, &log_partition) < 0.1);
}

TEST_CASE("approximations are exact where they must be", "[laws]") {
  for (const double gap : {-3.0, 0.0, 5.0, 9.0}) {
    const double flat = logistic(gap - std::log(40.0));
    CHECK(std::abs(needle_weight_second_order(40.0, 0.0, gap) - flat) < 1e-15);
    CHECK(std::abs(needle_weight_log_normal(40.0, 0.0, gap).value - flat) < 1e-11);
    CHECK(std::abs(needle_weight_quenched(std::log(40.0), gap) - flat) < 1e-15);
    // one noise token is log-normal
    const double one = needle_weight(1.0, 1.7, gap).value;
    CHECK(std::abs(needle_weight_log_normal(1.0, 1.7, gap).value - one) < 1e-11);
    // cold: the largest score wins, and the needle is it with the stated probability
    const double cold = needle_weight(50.0, 1e5, gap * 1e5 / 4).value;
    CHECK(std::abs(needle_weight_largest(50.0, 1e5, gap * 1e5 / 4) - cold) < 1e-3);
  }
}

TEST_CASE("approximations refuse what is no row", "[laws]") {
  CHECK(refuses([] { needle_weight_second_order(0.0, 1.0, 1.0); }, {"noise_count", "value = 0"}));
  CHECK(refuses([] { needle_weight_log_normal(5.0, -1.0, 1.0); }, {"needle_weight_log_normal", "noise_stddev", "-1"}));
  CHECK(refuses([] { needle_weight_stable(1000.0, 1.0, 1.0); }, {"frozen_row", "score_stddev", "frozen phase"}));
  CHECK(refuses([] { needle_weight_largest(5.0, 0.0, 1.0); }, {"noise_stddev", "value = 0"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { needle_weight_quenched(x, 1.0); }, {"log_partition"}));
    CHECK(refuses([x] { needle_weight_quenched(1.0, x); }, {"gap"}));
    CHECK(refuses([x] { needle_weight_log_normal(5.0, 1.0, x); }, {"gap"}));
    CHECK(refuses([x] { needle_weight_largest(5.0, x, 1.0); }, {"noise_stddev"}));
  }
}

}  // namespace incontext::testing
