#include <cmath>
#include <type_traits>

#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_second_order.hpp"
#include "incontext/scoring/softmax.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("softmax's second order and its exact error agree in float and long double", "", float,
                   long double) {
  using T = TestType;
  const bool is_single = std::is_same_v<T, float>;
  RegressionCases cases(303);
  const auto task = cases.task(3).with_input_mean(Vector<double>::Zero(3));
  auto attention = cases.attention(3);
  attention.input_value.setZero();
  const double temperature = std::ceil(2.0 * second_order_lowest_temperature(attention, task));
  const double second = softmax_error_second_order(attention, task, temperature, 25);
  CHECK(std::abs(double(softmax_error_second_order(as<T>(attention), as<T>(task), T(temperature), 25)) / second - 1) <
        (is_single ? 1e-5 : 1e-13));
  const double exact = softmax_error(attention, task, 25, scoring::Softmax<double>{temperature}).value;
  const auto error = softmax_error(as<T>(attention), as<T>(task), 25, scoring::Softmax<T>{T(temperature)});
  CHECK(std::abs(double(error.value) / exact - 1) < (is_single ? 1e-4 : 1e-11));
}
