#include "incontext/regression/inverse_temperature_parabola.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "incontext/core/real.hpp"
#include "support/catch.hpp"

using Parabola = incontext::regression::InverseTemperatureParabola<double>;

TEST_CASE("a parabola is plain data") { STATIC_REQUIRE(incontext::DevicePlain<Parabola>); }

TEST_CASE("values, optimum and minimum of a parabola agree with exact arithmetic") {
  // G = 3 - 2 * 2 / tau + 4 / tau^2: optimum 2, minimum 3 - 4 / 4 = 2.
  const Parabola error{3.0, 2.0, 4.0};
  CHECK(error(1.0) == 3.0);
  CHECK(error(2.0) == 2.0);
  CHECK(error(4.0) == 2.25);
  CHECK(error.has_optimal_temperature());
  CHECK(error.optimal_temperature() == 2.0);
  CHECK(error.minimum() == 2.0);
  CHECK(error.excess(4.0) == 0.25);
  CHECK(error.excess(2.0) == 0.0);
}

TEST_CASE("a parabola rounds as stated") {
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> uniform(0.01, 10.0);
  const double eps = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < 1000; ++i) {
    const Parabola error{uniform(engine), uniform(engine), uniform(engine)};
    const double tau = uniform(engine);
    const long double t = tau;
    const long double exact = error.constant - 2.0L * error.linear / t + error.quadratic / t / t;
    const double scale = error.constant + 2.0 * error.linear / tau + error.quadratic / (tau * tau);
    REQUIRE(std::abs(error(tau) - static_cast<double>(exact)) <= 4.0 * eps * scale);
    const long double best = static_cast<long double>(error.quadratic) / error.linear;
    REQUIRE(std::abs(error.optimal_temperature() - static_cast<double>(best)) <= eps * static_cast<double>(best));
    const long double away = 1.0L / t - 1.0L / best;
    REQUIRE(std::abs(error.excess(tau) - static_cast<double>(error.quadratic * away * away)) <=
            8.0 * eps * error.quadratic * static_cast<double>(std::abs(away) * (1.0L / t + 1.0L / best)));
    REQUIRE(error(tau) >= error.minimum() - 4.0 * eps * scale);
  }
}

TEST_CASE("a parabola without a positive optimum answers infinity and the constant") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double linear : {0.0, -1.0, -infinity}) {
    const Parabola error{3.0, linear, 4.0};
    CHECK_FALSE(error.has_optimal_temperature());
    CHECK(error.optimal_temperature() == infinity);
    CHECK(error.minimum() == 3.0);
  }
  const Parabola rising{3.0, -1.0, 4.0};
  CHECK(rising.excess(2.0) == rising(2.0) - 3.0);
  const Parabola falling{3.0, 2.0, 0.0};  // only rounding can produce this: g_2 = 0 implies g_1 = 0
  CHECK_FALSE(falling.has_optimal_temperature());
  CHECK(falling.optimal_temperature() == infinity);
  CHECK(falling.minimum() == 3.0);
  CHECK(falling.excess(2.0) == falling(2.0) - 3.0);
  const Parabola flat{3.0, 0.0, 0.0};
  CHECK_FALSE(flat.has_optimal_temperature());
  CHECK(flat.minimum() == 3.0);
  CHECK(flat(1e-300) == 3.0);
}

TEST_CASE("the parabola ends in its constant at infinite temperature and is NaN outside its domain") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Parabola error{3.0, 2.0, 4.0};
  CHECK(error(infinity) == 3.0);
  CHECK(error.excess(infinity) == 1.0);
  for (const double outside : {0.0, -1.0, -infinity, nan}) {
    CHECK(std::isnan(error(outside)));
    CHECK(std::isnan(error.excess(outside)));
  }
  const Parabola lost{nan, nan, nan};
  CHECK(std::isnan(lost(1.0)));
  CHECK(std::isnan(lost.optimal_temperature()));
  CHECK(std::isnan(lost.minimum()));
  CHECK_FALSE(lost.has_optimal_temperature());
}
