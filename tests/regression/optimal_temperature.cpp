#include "incontext/regression/optimal_temperature.hpp"

#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>

#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using incontext::testing::refuses;

namespace {

Attention<double> isotropic_attention(std::int64_t d, double m, double v) {
  return {m * Matrix<double>::Identity(d, d), Vector<double>::Zero(d), v};
}

}  // namespace

TEST_CASE("the isotropic closed form is the parabola's optimum at every context length") {
  const std::int64_t d = GENERATE(1, 4, 20);
  const std::int64_t l = GENERATE(2, 7, 1000);
  const IsotropicTask<double> law{
      .dimension = d, .input_variance = 1.75, .task_variance = 0.125, .noise_variance = 0.3};
  const auto task = LinearTask<double>::isotropic(law);
  const auto attention = isotropic_attention(d, 0.8, 0.9);
  const double closed = optimal_temperature_isotropic<double>({.key_query_scale = 0.8, .label_value = 0.9}, law, l);
  const double bound = 40.0 * std::numeric_limits<double>::epsilon() * closed;
  CHECK(std::abs(optimal_temperature(attention, task, l) - closed) <= bound);
  CHECK(std::abs(optimal_temperature(attention, task, l, {.offset = Offset::removed}) - closed) <= bound);
  // Power: the finite-context terms matter, and the query's own token changes the optimum.
  CHECK(std::abs(0.8 * 0.9 * 1.75 - closed) > bound);
  CHECK(std::abs(optimal_temperature(attention, task, l, {.query = QueryToken::included}) - closed) > 1e-5 * closed);
}

TEST_CASE("the isotropic closed form has the number computed by hand") {
  const IsotropicTask<double> law{.dimension = 5, .input_variance = 2.0, .task_variance = 0.5, .noise_variance = 0.25};
  // 0.5 * 3 * (2 * (1 + 5/10) + 0.25 / (0.5 * 10)) = 1.5 * 3.05
  CHECK(std::abs(optimal_temperature_isotropic<double>({.key_query_scale = 0.5, .label_value = 3.0}, law, 10) -
                 4.575) <= 6.0 * std::numeric_limits<double>::epsilon() * 4.575);
}

TEST_CASE("no search beats the closed form") {
  incontext::testing::RegressionCases cases(51);
  const auto attention = cases.attention(4);
  const auto task = cases.task(4);
  const std::int64_t l = GENERATE(2, 9, 60);
  const auto error = generalization_error(attention, task, l);
  REQUIRE(error.has_optimal_temperature());
  const double best = optimal_temperature(attention, task, l);
  const auto found =
      boost::math::tools::brent_find_minima([&](double tau) { return error(tau); }, 0.1 * best, 10.0 * best, 50);
  CHECK(std::abs(found.first / best - 1.0) <= 1e-6);
  CHECK(std::abs(found.second - error.minimum()) <= 1e-14 * error.constant);
  CHECK(error(1.01 * best) > error.minimum());
  CHECK(error(0.99 * best) > error.minimum());
}

TEST_CASE("attention against the task has its optimum at infinity") {
  const double infinity = std::numeric_limits<double>::infinity();
  const IsotropicTask<double> law{.dimension = 3};
  for (const double sign : {-1.0, 0.0}) {
    CHECK(optimal_temperature_isotropic<double>({.key_query_scale = sign}, law, 10) == infinity);
    CHECK(optimal_temperature(isotropic_attention(3, sign, 1.0), LinearTask<double>::isotropic(law), 10) == infinity);
  }
}

TEST_CASE("optimal_temperature_isotropic refuses what is outside its domain") {
  const IsotropicAttention<double> attention;
  CHECK_THROWS_AS(optimal_temperature_isotropic(attention, IsotropicTask<double>{.dimension = 3}, 1),
                  std::invalid_argument);
  CHECK(refuses<std::logic_error>(
      [&] { optimal_temperature_isotropic(attention, IsotropicTask<double>{.dimension = 3}, 1); },
      {"context_length", "value = 1"}));
  CHECK(refuses<std::logic_error>(
      [&] { optimal_temperature_isotropic(attention, IsotropicTask<double>{.dimension = 0}, 5); },
      {"dimension", "value = 0"}));
  CHECK_THROWS_AS(
      optimal_temperature_isotropic(attention, IsotropicTask<double>{.dimension = 3, .task_variance = 0.0}, 5),
      std::domain_error);
  CHECK(refuses<std::logic_error>(
      [&] {
        optimal_temperature_isotropic(attention, IsotropicTask<double>{.dimension = 3, .noise_variance = -2.0}, 5);
      },
      {"noise_variance", "value = -2"}));
}
