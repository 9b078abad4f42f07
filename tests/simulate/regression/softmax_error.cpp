#include "incontext/regression/softmax_error.hpp"

#include <cmath>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/softmax_second_order.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"

namespace softmax_error_test {

// True softmax attention against the literal trial, |z| <= 5 with fixed seeds.

namespace {

using namespace incontext;
using Softmax = scoring::Softmax<double>;

const std::vector<double> temperatures{0.1, 0.7, 1.5, 4.0};

regression::LinearTask<double> centered_task() {
  return testing::general_task().with_input_mean(regression::Vector<double>::Zero(3));
}

regression::Attention<double> label_attention() {
  auto attention = testing::general_attention();
  attention.input_value.setZero();
  return attention;
}

}  // namespace

TEST_CASE("softmax: the literal trial agrees with the exact error at every temperature, and only with it") {
  const std::int64_t l = GENERATE(2, 10, 40);
  const auto task = centered_task();
  const auto attention = label_attention();
  const auto simulation = simulate::regression_error<double>(
      attention, task, l, simulate::at_temperatures<Softmax>(temperatures), {.seed = 31, .trials = 1 << 19});
  const auto exact = [&](std::int64_t length, double factor) {
    return [&, length, factor](double temperature) {
      return factor * regression::softmax_error(attention, task, length, Softmax{temperature}).value;
    };
  };
  CHECK(testing::largest_z(simulation.estimates, temperatures, exact(l, 1.0)) <= 5);
  // Power: an eighth more examples, two percent, and approximate softmax.
  CHECK(testing::largest_z(simulation.estimates, temperatures, exact(l + 1 + l / 8, 1.0)) > 5);
  CHECK(testing::largest_z(simulation.estimates, temperatures, exact(l, 1.02)) > 5);
  CHECK(testing::largest_z(simulation.estimates, temperatures, regression::generalization_error(attention, task, l)) >
        5);
}

TEST_CASE("softmax: far above the lowest temperature the second order is enough") {
  const auto task = centered_task();
  const auto attention = label_attention();
  const double temperature = 3 * regression::second_order_lowest_temperature(attention, task);
  const auto measured =
      simulate::regression_error<double>(attention, task, 40, Softmax{temperature}, {.seed = 32, .trials = 1 << 18});
  const auto second = regression::softmax_error_second_order(attention, task, temperature, 40);
  CHECK(statistics::agree(second, measured).within(5));
  // Power: infinite context.
  const auto limit = regression::softmax_error_second_order(attention, task, temperature, 1'000'000'000'000);
  CHECK_FALSE(statistics::agree(limit, measured).within(5));
}

}  // namespace softmax_error_test
