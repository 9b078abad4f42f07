#include "incontext/laws/gaussian_asymptotics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "incontext/laws/gaussian_row.hpp"
#include "laws/refusal.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// -d log Y_2 / d log n at fixed theta, between two lengths of the exact row.
double slope_of_ipr(double theta, double n, double m) {
  const auto log_y2 = [&](double count) {
    return std::log(gaussian_row(count, theta * critical_score_stddev(count)).ipr);
  };
  return (log_y2(n) - log_y2(m)) / std::log(m / n);
}

}  // namespace

TEST_CASE("log Z is between its bounds and tends to the quenched law", "[laws]") {
  for (const double theta : {0.3, 0.7, 1.0, 1.5, 3.0}) {
    double before = 10;
    for (const double n : {1e2, 1e6, 1e12}) {
      const double x = theta * critical_score_stddev(n), exact = gaussian_row(n, x).log_partition;
      CHECK(exact <= annealed_log_partition(n, x));
      CHECK(std::log(n) <= exact);
      const double away = quenched_log_partition(n, x) / exact - 1;
      CHECK(away >= 0);
      CHECK(away < before);
      before = away;
    }
    CHECK(before < 0.05);
  }
  // only above the critical temperature
  const double x = 2 * critical_score_stddev(1e12);
  CHECK_FALSE(relative(annealed_log_partition(1e12, x), gaussian_row(1e12, x).log_partition) < 0.2);
  CHECK(quenched_log_partition(50.0, critical_score_stddev(50.0)) ==
        annealed_log_partition(50.0, critical_score_stddev(50.0)));
  for (const double theta : {0.2, 0.5}) {
    const double score_stddev = theta * critical_score_stddev(1e9);
    CHECK(relative(quenched_entropy(1e9, score_stddev), gaussian_row(1e9, score_stddev).entropy) < 1e-2);
  }
  CHECK(quenched_entropy(1e9, 100.0) == 0);
}

TEST_CASE("inverse participation ratio falls with the stated powers of n", "[laws]") {
  for (const double theta : {0.1, 0.3, 0.5, 0.65, 0.8}) {
    const double power = gaussian_powers(theta).mean_ipr;
    INFO("theta " << theta << ", power " << power);
    // rows converge slowly, with log n: the rest of the slope is of order 1 / log n
    const double slope = slope_of_ipr(theta, 1e12, 1e15);
    CHECK(std::abs(slope - power) < (theta < 0.55 ? 0.01 : 0.05));
    if (theta > 0.6) CHECK_FALSE(std::abs(slope - (1 - 2 * theta * theta)) < 0.05);
  }
}

TEST_CASE("powers of n are continuous and fall to zero", "[laws]") {
  const double edge = 1 / std::sqrt(3.0), step = 1e-9;
  CHECK(std::abs(gaussian_powers(edge - step).mean_ipr - gaussian_powers(edge + step).mean_ipr) < 1e-8);
  CHECK(std::abs(gaussian_powers(0.5 - step).typical_ipr - gaussian_powers(0.5 + step).typical_ipr) < 1e-8);
  CHECK(gaussian_powers(0.0).mean_ipr == 1);
  CHECK(gaussian_powers(0.0).typical_largest == 1);
  for (const double theta : {1.0, 5.0}) {
    CHECK(gaussian_powers(theta).mean_ipr == 0);
    CHECK(gaussian_powers(theta).typical_ipr == 0);
    CHECK(gaussian_powers(theta).typical_largest == 0);
  }
  for (double theta = 0.01; theta < 1; theta += 0.01) {
    const auto powers = gaussian_powers(theta);
    CHECK(powers.mean_ipr <= powers.typical_ipr + 1e-15);             // rare rows only add
    CHECK(powers.typical_largest <= powers.typical_ipr + 1e-15);      // sum a^2 <= max a
    CHECK(powers.typical_ipr <= 2 * powers.typical_largest + 1e-15);  // (max a)^2 <= sum a^2
  }
}

TEST_CASE("a frozen row at finite n beats the limit by far", "[laws]") {
  for (const double n : {1e2, 1e6, 1e9}) {
    for (const double theta : {1.25, 2.0, 3.0}) {
      const double x = theta * critical_score_stddev(n);
      const auto exact = gaussian_row(n, x);
      const auto frozen = frozen_row(n, x);
      const double excess = frozen.log_partition - exact.log_partition;
      INFO("n " << n << ", theta " << theta << ", excess " << excess);
      CHECK(excess > 0);
      CHECK(excess < 0.45);
      CHECK_FALSE(quenched_log_partition(n, x) - exact.log_partition < 1);
      CHECK(frozen.ipr < exact.ipr);
      CHECK(exact.ipr - frozen.ipr < (n < 1e6 ? 0.11 : 0.05));
    }
  }
  // one score in n is above the quantile
  for (const double n : {2.0, 100.0, 1e12}) {
    const double quantile = frozen_row(n, 50.0).quantile;
    CHECK(std::abs(std::erfc(quantile / std::sqrt(2.0)) / 2 * n - 1) < 1e-12);
  }
}

TEST_CASE("a frozen row is its closed form: quantile, index, log Z and inverse participation ratio", "[laws]") {
  struct Case {
    double count, score_stddev;
    FrozenRow<double> row;  // b = Phi^-1(1 - 1/n), n phi(b) / x, and what follows from them, at 40 digits
  };
  for (const auto& [count, score_stddev, row] :
       {Case{2, 1, {0, 0.79788456080286535588, 2.042397908756502579, 0.20211543919713464412}},
        Case{64, 5, {2.153874694061456213, 0.50203699783569399595, 12.489977568462265249, 0.49796300216430600405}},
        Case{100, 8, {2.3263478740408411009, 0.33315177754322560165, 20.675386212311969898, 0.66684822245677439835}},
        Case{
            1e9, 20, {5.9978070150076868716, 0.30781711204026404107, 122.13285560894927017, 0.69218288795973595893}}}) {
    const auto found = frozen_row(count, score_stddev);
    INFO("n " << count << ", x " << score_stddev);
    CHECK(std::abs(found.quantile - row.quantile) <= 1e-14 * row.quantile);
    CHECK(relative(found.index, row.index) < 1e-13);
    CHECK(relative(found.log_partition, row.log_partition) < 1e-13);
    CHECK(relative(found.ipr, row.ipr) < 1e-13);
  }
}

TEST_CASE("asymptotics keep their digits", "[laws]") {
  using L = long double;
  for (const double n : {1.5, 2.0, 1e3, 1e15}) {
    const L critical = std::sqrt(2 * std::log(L(n))), log_partition = std::log(L(n)) + 12.25L / 2;
    CHECK(eps_from(critical_score_stddev(n), critical, critical) <= 4);
    CHECK(eps_from(annealed_log_partition(n, 3.5), log_partition, log_partition) <= 4);
    CHECK(relative(annealed_ipr(n, 1.5), static_cast<double>(std::exp(L(2.25)) / L(n))) < 1e-15);
  }
  CHECK(critical_score_stddev(1.0) == 0);
}

TEST_CASE("asymptotics refuse what is no row", "[laws]") {
  CHECK(refuses([] { critical_score_stddev(0.5); }, {"critical_score_stddev", "row_length", "0.5"}));
  CHECK(refuses([] { annealed_log_partition(5.0, -1.0); }, {"score_stddev", "-1"}));
  CHECK(refuses([] { gaussian_powers(-0.1); }, {"theta", "-0.1"}));
  CHECK(refuses([] { frozen_row(1.0, 5.0); }, {"frozen_row", "row_length", "value = 1"}));
  CHECK(refuses([] { frozen_row(100.0, 0.5); }, {"score_stddev", "frozen phase", "0.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { critical_score_stddev(x); }, {"row_length"}));
    CHECK(refuses([x] { annealed_log_partition(5.0, x); }, {"score_stddev"}));
    CHECK(refuses([x] { quenched_log_partition(5.0, x); }, {"score_stddev"}));
    CHECK(refuses([x] { quenched_entropy(5.0, x); }, {"score_stddev"}));
    CHECK(refuses([x] { annealed_ipr(5.0, x); }, {"score_stddev"}));
    CHECK(refuses([x] { gaussian_powers(x); }, {"theta"}));
    CHECK(refuses([x] { frozen_row(5.0, x); }, {"score_stddev"}));
  }
}

}  // namespace incontext::testing
