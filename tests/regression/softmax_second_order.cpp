#include "incontext/regression/softmax_second_order.hpp"

#include <cmath>

#include "incontext/regression/generalization_error.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("in one dimension the second order is what the scalars say") {
  const double s = 1.5, r = 0.75, noise = 0.25, m = 0.8, v = 0.9, temperature = 3.0;
  const LinearTask<double> task({Vector<double>::Zero(1), Matrix<double>::Constant(1, 1, s),
                                 Vector<double>::Constant(1, 0.5), Matrix<double>::Constant(1, 1, 0.5), noise});
  const Attention<double> attention{Matrix<double>::Constant(1, 1, m), Vector<double>::Zero(1), v};
  const double k = m / temperature, h = 1 - v * s * k, t = 1 / (1 / s - 2 * k * k * s), z = std::sqrt(t / s);
  const double expected = noise + r * h * h * s + v * v * z / 40 * (k * s * r * s * k * t + r * s + noise) +
                          2 * v * z / 40 * h * r * s * k * t;
  CHECK(std::abs(softmax_error_second_order(attention, task, temperature, 40) / expected - 1) < 1e-14);
  CHECK(std::abs(second_order_lowest_temperature(attention, task) / (std::sqrt(2.0) * m * s) - 1) < 1e-15);
}

TEST_CASE("hot, the second order is exact and that of approximate softmax") {
  const Model model = label_model(303, 3);
  const auto& attention = model.attention;
  const auto& task = model.task;
  const double hot = softmax_error_second_order(attention, task, 1e9, 7);
  CHECK(std::abs(hot / generalization_error(attention, task, 7).constant - 1) < 1e-7);
}

TEST_CASE("below its lowest temperature there is no second order, and no number") {
  const Model model = label_model(304, 4);
  const auto& attention = model.attention;
  const auto& task = model.task;
  const double lowest = second_order_lowest_temperature(attention, task);
  double before = 0.0;
  for (const double above : {2.0, 1.1, 1.001, 1.000001}) {
    const double error = softmax_error_second_order(attention, task, above * lowest, 10);
    CHECK(std::isfinite(error));
    if (above < 1.1) CHECK(error > 2.0 * before);
    before = error;
  }
  for (const double below : {0.999999, 0.5, 1e-6, 1e-200}) {
    CHECK_THROWS_AS(softmax_error_second_order(attention, task, below * lowest, 10), SecondOrderDomainError);
  }
  try {
    softmax_error_second_order(attention, task, 0.5 * lowest, 10);
  } catch (const SecondOrderDomainError& error) {
    CHECK(error.temperature == 0.5 * lowest);
    CHECK(std::abs(error.lowest_temperature / lowest - 1) < 1e-14);
  }
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(attention, task, 0.5 * lowest, 10); },
                                  {"softmax_error_second_order", "outside the domain", "temperature above"}));
  const Attention<double> silent{Matrix<double>::Zero(4, 4), Vector<double>::Zero(4), 1.0};
  CHECK(second_order_lowest_temperature(silent, task) == 0.0);
  CHECK(std::isfinite(softmax_error_second_order(silent, task, 1e-9, 10)));
}

TEST_CASE("a determinant too large for the scalar is outside the domain, not infinity") {
  const Eigen::Index d = 400;
  const auto task = LinearTask<double>::isotropic({.dimension = d});
  const Attention<double> attention{Matrix<double>::Identity(d, d), Vector<double>::Zero(d), 1.0};
  CHECK(std::abs(second_order_lowest_temperature(attention, task) / std::sqrt(2.0) - 1) < 1e-14);
  CHECK_THROWS_AS(softmax_error_second_order(attention, task, std::sqrt(2.0) * 1.001, 10), SecondOrderDomainError);
}

TEST_CASE("the second order refuses what it cannot mean, and says which value") {
  const Model model = label_model(302, 2);
  const auto& attention = model.attention;
  const auto& task = model.task;
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(attention, task, 9.0, 1); },
                                  {"context_length", "value = 1"}));
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(attention, task, -1.0, 5); },
                                  {"temperature", "value = -1"}));
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(attention, task, std::nan(""), 5); },
                                  {"temperature", "nan"}));
  const auto shifted = task.with_input_mean(Vector<double>{{0.5, 0.0}});
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(attention, shifted, 9.0, 5); },
                                  {"input_mean(0, 0)", "value = 0.5"}));
  auto valued = attention;
  valued.input_value(1) = 1.0;
  CHECK(refuses<std::logic_error>([&] { softmax_error_second_order(valued, task, 9.0, 5); }, {"input_value(1, 0)"}));
}
