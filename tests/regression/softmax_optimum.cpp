#include "incontext/regression/softmax_optimum.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "incontext/regression/centered_ridge_risk.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;
using scoring::Softmax;
using scoring::SSA;

namespace {

const IsotropicTask<double> base_law{
    .dimension = 4, .input_variance = 1.0, .task_variance = 0.25, .noise_variance = 0.1};
const IsotropicAttention<double> unit_attention{.key_query_scale = 1.0, .label_value = 1.0};

double error_at(const IsotropicTask<double>& task, std::int64_t l, double temperature) {
  return softmax_error_isotropic(unit_attention, task, l, Softmax<double>{temperature}).value;
}

}  // namespace

TEST_CASE("the search finds the valley from either side, and an end where there is none") {
  int calls = 0;
  const auto valley = [&](double x) {
    ++calls;
    return std::pow(std::log(x / 3.0), 2) + 1;
  };
  for (const double start : {1e-4, 0.5, 3.0, 40.0, 1e4}) {
    const auto best = minimize_softmax_error(valley, SearchRange<double>{1e-4, start, 1e4});
    CHECK(std::abs(best.parameter / 3.0 - 1) < 1e-5);
    CHECK(std::abs(best.error - 1) < 1e-10);
  }
  CHECK(calls < 5 * 60);
  const auto falling = [](double x) { return 1 / x; };
  const SearchRange<double> range{1.0, 2.0, 50.0};
  CHECK(minimize_softmax_error(falling, range).parameter == 50.0);
  CHECK(minimize_softmax_error(falling, range).place == numerics::SearchPlace::highest);
  const auto rising = [](double x) { return x; };
  CHECK(minimize_softmax_error(rising, range).parameter == 1.0);
  CHECK(minimize_softmax_error(rising, range).place == numerics::SearchPlace::lowest);
  // to rounding flat from 40 on, where a step of the search finds no fall
  const auto to_a_limit = [](double x) { return 1 + std::exp(-x); };
  CHECK(minimize_softmax_error(to_a_limit, SearchRange<double>{1.0, 2.0, 1e6}).place == numerics::SearchPlace::highest);
  CHECK(minimize_softmax_error(valley, SearchRange<double>{1.0, 2.0, 50.0}).place == numerics::SearchPlace::inside);
  // a start at an end, and an error that is the same everywhere
  CHECK(minimize_softmax_error(rising, SearchRange<double>{1.0, 1.0, 50.0}).place == numerics::SearchPlace::lowest);
  CHECK(minimize_softmax_error(falling, SearchRange<double>{1.0, 50.0, 50.0}).place == numerics::SearchPlace::highest);
  CHECK(minimize_softmax_error([](double) { return 1.0; }, range).place != numerics::SearchPlace::inside);
  // an end that the search has no reason to look at is not evaluated
  const auto nowhere_else = [&](double x) { return x < 0.1 || x > 40 ? throw std::domain_error("far") : valley(x); };
  CHECK(minimize_softmax_error(nowhere_else, SearchRange<double>{1e-4, 2.0, 1e4}).place ==
        numerics::SearchPlace::inside);
  CHECK(std::abs(ssa_optimal_exponent_isotropic(
                     unit_attention, {.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1}, 100, 1000.0)
                     .parameter -
                 3) < 1);
}

TEST_CASE("bases at which SSA's error falls to the end of the search are no optima") {
  // d = 20, l = 100: the error falls to its limit for an infinite base
  const IsotropicTask<double> law{.dimension = 20, .input_variance = 1.0, .task_variance = 0.05, .noise_variance = 0.1};
  for (const double exponent : {1.5, 3.0}) {
    const auto base = ssa_optimal_base_isotropic(unit_attention, law, 100, exponent);
    CAPTURE(exponent, base.parameter);
    CHECK(base.place == numerics::SearchPlace::highest);
    CHECK(softmax_error_isotropic(unit_attention, law, 100, SSA<double>{100 * base.parameter, exponent}).value <=
          base.error);
  }
  CHECK(ssa_optimal_base_isotropic(unit_attention, base_law, 20, 2.0).place == numerics::SearchPlace::inside);
  CHECK(softmax_optimal_temperature_isotropic(unit_attention, law, 100).place == numerics::SearchPlace::inside);
}

TEST_CASE("the minimum of an error that is not a parabola is found to a relative 1e-5, at every scale") {
  for (const double at : {1e-6, 3.0, 1e6}) {
    const auto steep_upwards = [&](double x) { return x / at - std::log(x / at); };
    const auto steep_downwards = [&](double x) { return at / x + std::log(x / at); };
    for (const double factor : {0.01, 0.7, 30.0}) {
      const SearchRange<double> range{1e-3 * at, factor * at, 1e3 * at};
      CHECK(std::abs(minimize_softmax_error(steep_upwards, range).parameter / at - 1) < 1e-5);
      CHECK(std::abs(minimize_softmax_error(steep_downwards, range).parameter / at - 1) < 1e-5);
    }
  }
}

TEST_CASE("no temperature of a grid does better than the optimal one, and the error has one valley") {
  const std::int64_t l = GENERATE(2, 50, 10'000);
  const std::int64_t d = GENERATE(1, 20);
  auto task = base_law;
  task.dimension = d;
  task.task_variance = 1.0 / static_cast<double>(d);
  const auto best = softmax_optimal_temperature_isotropic(unit_attention, task, l);
  CHECK(std::abs(error_at(task, l, best.parameter) / best.error - 1) < 1e-13);
  int turns = 0;
  double before = error_at(task, l, 0.1 * best.parameter);
  bool falling = true;
  for (double factor = 0.125; factor < 10; factor *= 1.25) {
    const double error = error_at(task, l, factor * best.parameter);
    CHECK(error >= best.error * (1 - 1e-12));
    if ((error < before) != falling) {
      falling = !falling;
      ++turns;
    }
    before = error;
  }
  CHECK(turns == 1);
  // Power: 2% off is worse.
  CHECK(error_at(task, l, 1.02 * best.parameter) > best.error * (1 + 1e-8));
  CHECK(error_at(task, l, 0.98 * best.parameter) > best.error * (1 + 1e-8));
}

TEST_CASE("true softmax wants another temperature than approximate softmax, and the same at infinite context") {
  const double approximate = optimal_temperature_isotropic(unit_attention, base_law, 100);
  const auto best = softmax_optimal_temperature_isotropic(unit_attention, base_law, 100);
  CHECK(best.parameter > 1.05 * approximate);
  CHECK(best.error < 0.999 * error_at(base_law, 100, approximate));
  const auto far = softmax_optimal_temperature_isotropic(unit_attention, base_law, 100'000'000);
  CHECK(std::abs(far.parameter - 1) < 1e-3);
  // and neither does better than Bayes
  IsotropicTask<double> wide{.dimension = 20, .input_variance = 1.0, .task_variance = 0.05, .noise_variance = 0.1};
  const double bayes = centered_ridge_risk_isotropic_limit(wide, 101);
  CHECK(softmax_optimal_temperature_isotropic(unit_attention, wide, 100).error > bayes);
}

TEST_CASE("SSMax at its best scale is softmax at its best temperature, of either sign") {
  const auto best = softmax_optimal_temperature_isotropic(unit_attention, base_law, 50);
  const auto scale = ssmax_optimal_scale_isotropic(unit_attention, base_law, 50);
  CHECK(scale.error == best.error);
  CHECK(std::abs(scale.parameter * best.parameter * std::log(50.0) - 1) < 1e-15);
  const scoring::SSMax<double> ssmax{scale.parameter};
  CHECK(std::abs(softmax_error_isotropic(unit_attention, base_law, 50, ssmax).value / best.error - 1) < 1e-12);
  const IsotropicAttention<double> opposed{.key_query_scale = 1.0, .label_value = -1.0};
  const auto negative = ssmax_optimal_scale_isotropic(opposed, base_law, 50);
  CHECK(negative.parameter == -scale.parameter);
  CHECK(std::abs(softmax_error_isotropic(opposed, base_law, 50, scoring::SSMax<double>{negative.parameter}).value /
                     negative.error -
                 1) < 1e-12);
}

TEST_CASE("SSA's best base and exponent are minima, and a large exponent's is softmax's") {
  const auto error = [&](double b, double k) {
    return softmax_error_isotropic(unit_attention, base_law, 20, SSA<double>{b, k}).value;
  };
  const auto base = ssa_optimal_base_isotropic(unit_attention, base_law, 20, 2.0);
  CHECK(std::abs(error(base.parameter, 2.0) / base.error - 1) < 1e-13);
  for (const double factor : {0.3, 0.97, 1.03, 3.0}) CHECK(error(factor * base.parameter, 2.0) > base.error);
  const auto exponent = ssa_optimal_exponent_isotropic(unit_attention, base_law, 20, 1.0);
  for (const double factor : {0.5, 0.97, 1.03, 2.0}) CHECK(error(1.0, factor * exponent.parameter) > exponent.error);
  const auto best = softmax_optimal_temperature_isotropic(unit_attention, base_law, 20);
  const auto steep = ssa_optimal_base_isotropic(unit_attention, base_law, 20, 100.0);
  CHECK(std::abs(steep.parameter * 100.0 * best.parameter - 1) < 0.05);
  CHECK(std::abs(steep.error / best.error - 1) < 0.03);
}

TEST_CASE("attention that opposes the task is best kept uniform") {
  const IsotropicAttention<double> opposed{.key_query_scale = -1.0, .label_value = 1.0};
  const double uniform = (0.1 + 1.0) * (1 + 1.0 / 12);
  const auto temperature = softmax_optimal_temperature_isotropic(opposed, base_law, 12);
  CHECK(temperature.parameter == std::numeric_limits<double>::infinity());
  CHECK(std::abs(temperature.error / uniform - 1) < 1e-14);
  CHECK(ssa_optimal_base_isotropic(opposed, base_law, 12, 2.0).parameter == 0.0);
  CHECK(ssa_optimal_exponent_isotropic(opposed, base_law, 12, 1.0).parameter == 1.0);
  CHECK(ssmax_optimal_scale_isotropic({.key_query_scale = 0.0}, base_law, 12).parameter == 0.0);
}

TEST_CASE("the optima refuse what they cannot mean, and say which value") {
  CHECK(refuses<std::logic_error>([] { softmax_optimal_temperature_isotropic(unit_attention, base_law, 1); },
                                  {"context_length", "value = 1"}));
  CHECK(refuses<std::logic_error>([] { ssa_optimal_base_isotropic(unit_attention, base_law, 5, 0.5); },
                                  {"exponent", "value = 0.5;"}));
  CHECK(refuses<std::logic_error>([] { ssa_optimal_exponent_isotropic(unit_attention, base_law, 5, -1.0); },
                                  {"base", "value = -1;"}));
  const auto flat = [](double) { return 1.0; };
  CHECK(refuses<std::logic_error>(
      [&] {
        minimize_softmax_error(flat, SearchRange<double>{0.0, 1.0, 2.0});
      },
      {"lowest", "value = 0"}));
  CHECK(refuses<std::logic_error>(
      [&] {
        minimize_softmax_error(flat, SearchRange<double>{1.0, 3.0, 2.0});
      },
      {"start", "value = 3"}));
}
