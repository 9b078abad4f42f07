#include "incontext/regression/generalization_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "regression/literal_attention.hpp"
#include "regression/refusal.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

using Parabola = InverseTemperatureParabola<double>;

struct Trial {
  Attention<double> attention;
  LinearTask<double> task;
};

Trial shifted_trial(Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(100 + d));
  return {cases.attention(d), cases.task(d)};
}

Trial centred_trial(Eigen::Index d) {
  Trial trial = shifted_trial(d);
  trial.attention.input_value.setZero();
  return {trial.attention, trial.task.with_input_mean(Vector<double>::Zero(d))};
}

/// Below the optimum, at it, above it; where there is none, three fixed temperatures.
std::array<double, 3> temperatures(const Parabola& error) {
  const double best = error.has_optimal_temperature() ? error.optimal_temperature() : 1.0;
  return {0.6 * best, best, 3.0 * best};
}

/// The exact parabola with its linear and quadratic coefficients multiplied.
Parabola scaled(Parabola error, double linear, double quadratic) {
  error.linear *= linear;
  error.quadratic *= quadratic;
  return error;
}

}  // namespace

TEST_CASE("the error of approximate softmax attention is that of attention run as written") {
  const Eigen::Index l = GENERATE(2, 6, 15);
  const auto [attention, task] = shifted_trial(3);
  const Parabola theory = generalization_error(attention, task, l);
  const auto at = temperatures(theory);
  const auto measured = literal_errors(attention, task, l, at, {.seed = 11});
  CHECK(largest_z(measured, at, theory) <= 5.0);

  // Power: l in the place of l - 1, and the term of relative size d / l left out.
  const double degrees = static_cast<double>(l - 1) / static_cast<double>(l);
  CHECK(largest_z(measured, at, scaled(theory, 1.0 / degrees, 1.0 / degrees)) > 5.0);
  const Parabola no_spread = generalization_error_leading_order(attention, task, 1'000'000'000);
  CHECK(largest_z(measured, at, {theory.constant, theory.linear, degrees * no_spread.quadratic}) > 5.0);
  // Power: the offset taken for removed.
  CHECK(largest_z(measured, at, generalization_error(attention, task, l, {.offset = Offset::removed})) > 5.0);
}

TEST_CASE("removing the offset is the limit of small values and large scores") {
  const auto [attention, task] = shifted_trial(3);
  const Parabola theory = generalization_error(attention, task, 6, {.offset = Offset::removed});
  const auto at = temperatures(theory);
  const auto measured = literal_errors(value_scaled(attention, 1e-7), task, 6, at, {.seed = 12});
  CHECK(largest_z(measured, at, theory) <= 5.0);
  CHECK(largest_z(measured, at, generalization_error(attention, task, 6)) > 5.0);

  // The same limit taken in the closed form, to the order of t.
  const Parabola limit = generalization_error(value_scaled(attention, 1e-9), task, 6);
  CHECK(std::abs(limit.constant - theory.constant) <= 1e-7 * theory.constant);
  CHECK(std::abs(limit.linear - theory.linear) <= 1e-7 * std::abs(theory.linear));
  CHECK(std::abs(limit.quadratic - theory.quadratic) <= 1e-12 * theory.quadratic);
}

TEST_CASE("the error with the query among its keys is that of the literal model") {
  const Eigen::Index l = GENERATE(2, 5, 12);
  const auto [attention, task] = centred_trial(3);
  constexpr ErrorConvention included{.query = QueryToken::included};
  const Parabola theory = generalization_error(attention, task, l, included);
  const auto at = temperatures(theory);
  const auto measured = literal_errors(attention, task, l, at, {.query = QueryToken::included, .seed = 13});
  CHECK(largest_z(measured, at, theory) <= 5.0);
  CHECK(largest_z(measured, at, generalization_error(attention, task, l)) > 5.0);

  const Parabola removed =
      generalization_error(attention, task, l, {.query = QueryToken::included, .offset = Offset::removed});
  const auto scaled_values = literal_errors(value_scaled(attention, 1e-7), task, l, at,
                                            {.query = QueryToken::included, .trials = 100'000, .seed = 14});
  CHECK(largest_z(scaled_values, at, removed) <= 5.0);
  CHECK(largest_z(scaled_values, at, theory) > 5.0);
}

TEST_CASE("one input dimension and two examples") {
  const auto [attention, task] = centred_trial(1);
  const Parabola theory = generalization_error(attention, task, 2);
  const auto at = temperatures(theory);
  CHECK(largest_z(literal_errors(attention, task, 2, at, {.seed = 15}), at, theory) <= 5.0);
}

TEST_CASE("the leading order differs from the exact error by the factor (l - 1) / l alone") {
  const std::int64_t l = GENERATE(2, 7, 100, 1'000'000'000);
  const auto [attention, task] = shifted_trial(4);
  const Parabola exact = generalization_error(attention, task, l, {.offset = Offset::removed});
  const Parabola leading = generalization_error_leading_order(attention, task, l);
  const double degrees = static_cast<double>(l - 1) / static_cast<double>(l);
  CHECK(leading.constant == exact.constant);
  CHECK(std::abs(leading.linear * degrees - exact.linear) <= 1e-15 * std::sqrt(exact.constant * exact.quadratic));
  CHECK(std::abs(leading.quadratic * degrees - exact.quadratic) <= 1e-14 * exact.quadratic);
  CHECK(std::abs(leading.optimal_temperature() / exact.optimal_temperature() - 1.0) <= 1e-14);
}

TEST_CASE("a long context makes the query's own token and the offset's noise vanish") {
  const auto [attention, task] = centred_trial(3);
  const Parabola excluded = generalization_error(attention, task, 1'000'000'000);
  const Parabola included = generalization_error(attention, task, 1'000'000'000, {.query = QueryToken::included});
  CHECK(std::abs(included.constant / excluded.constant - 1.0) <= 1e-8);
  CHECK(std::abs(included.linear / excluded.linear - 1.0) <= 1e-7);
  CHECK(std::abs(included.quadratic / excluded.quadratic - 1.0) <= 1e-7);
}

TEST_CASE("attention that opposes the task has no optimal temperature") {
  auto [attention, task] = centred_trial(2);
  attention.key_query = -Matrix<double>::Identity(2, 2);
  const Parabola error = generalization_error(attention, task, 10, {.offset = Offset::removed});
  CHECK(error.linear < 0.0);
  CHECK_FALSE(error.has_optimal_temperature());
  CHECK(error.optimal_temperature() == std::numeric_limits<double>::infinity());
  CHECK(error.minimum() == error.constant);
}

TEST_CASE("generalization_error refuses what it cannot mean, and says which value") {
  const Trial trial = shifted_trial(2);
  const Attention<double>& attention = trial.attention;
  const LinearTask<double>& task = trial.task;
  CHECK_THROWS_AS(generalization_error(attention, task, 1), std::invalid_argument);
  CHECK(refusal([&] { generalization_error(attention, task, 1); }, {"context_length", "value = 1"}) == "");
  CHECK_THROWS_AS(generalization_error_leading_order(attention, task, 0), std::invalid_argument);
  CHECK(refusal([&] { generalization_error_leading_order(attention, task, 0); }, {"context_length", "value = 0"}) ==
        "");

  Attention<double> wide = attention;
  wide.key_query = Matrix<double>::Identity(3, 3);
  CHECK(refusal([&] { generalization_error(wide, task, 5); }, {"key_query", "3 x 3"}) == "");
  Attention<double> broken = attention;
  broken.key_query(1, 0) = std::nan("");
  CHECK_THROWS_AS(generalization_error(broken, task, 5), std::domain_error);
  CHECK(refusal([&] { generalization_error(broken, task, 5); }, {"key_query(1, 0)", "nan"}) == "");

  constexpr ErrorConvention included{.query = QueryToken::included};
  CHECK_THROWS_AS(generalization_error(attention, task, 5, included), std::invalid_argument);
  CHECK(refusal([&] { generalization_error(attention, task, 5, included); }, {"input_mean(0"}) == "");
  const auto centred = task.with_input_mean(Vector<double>::Zero(2));
  CHECK(refusal([&] { generalization_error(attention, centred, 5, included); }, {"input_value(0"}) == "");
}
