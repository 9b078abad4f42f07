#include <cmath>
#include <type_traits>

#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_second_order.hpp"
#include "incontext/scoring/softmax.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

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

TEST_CASE("the lowest temperature of the second order has 50 digits") {
  using T = Real50;
  const Eigen::Index d = 3;
  const Matrix<T> third = Matrix<T>::Identity(d, d) / T(3);
  const LinearTask<T> task({Vector<T>::Zero(d), third, Vector<T>::Zero(d), third, T(1)});
  Matrix<T> key_query = Matrix<T>::Zero(d, d);  // a rotation by 30 degrees times 1/7: K^T K = I / 49 to 50 digits
  using std::sqrt;
  key_query << sqrt(T(3)) / 2, T(-1) / 2, T(0), T(1) / 2, sqrt(T(3)) / 2, T(0), T(0), T(0), T(1);
  const Attention<T> attention{key_query / T(7), Vector<T>::Zero(d), T(1)};
  const T exact = sqrt(T(2)) / T(21);
  CHECK(double(abs(T(second_order_lowest_temperature(attention, task) / exact - 1))) < 1e-47);
}
