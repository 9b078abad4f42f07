#include "incontext/regression/linear_attention_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "incontext/regression/generalization_error.hpp"
#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("the error of linear attention is that of attention run as written, with a shifted mean") {
  const Eigen::Index l = GENERATE(2, 6, 15);
  RegressionCases cases(31);
  const auto attention = cases.attention(3);
  const auto task = cases.task(3).with_input_mean(Vector<double>::Constant(3, 0.75));
  const auto theory = linear_attention_error(attention, task, l);
  REQUIRE(theory.has_optimal_temperature());
  const double best = theory.optimal_temperature();
  const std::array at{0.6 * best, best, 3.0 * best};
  const auto measured = literal_errors(attention, task, l, at, {.weights = Weights::linear, .seed = 21});
  CHECK(largest_z(measured, at, theory) <= 5.0);

  // Power: the approximate softmax in its place, and the mean forgotten.
  CHECK(largest_z(measured, at, generalization_error(attention, task, l)) > 5.0);
  CHECK(largest_z(measured, at, linear_attention_error(attention, task.with_input_mean(Vector<double>::Zero(3)), l)) >
        5.0);
  // Power: the fourth moment taken as if Lambda were a covariance, without - 2 (mu^T B mu) mu mu^T.
  const Vector<double>& mu = task.input_mean();
  const Vector<double> value = attention.input_value + attention.label_value * task.task_mean();
  const double b_at_mean =
      std::pow(value.dot(mu), 2) + std::pow(attention.label_value, 2) * mu.dot(task.task_covariance() * mu);
  const Vector<double> read = attention.key_query.transpose() * mu;
  auto careless = theory;
  careless.quadratic += 2.0 * b_at_mean * read.dot(task.input_second_moment() * read) / static_cast<double>(l);
  const auto more = literal_errors(attention, task, l, at, {.weights = Weights::linear, .trials = 100'000, .seed = 22});
  CHECK(largest_z(more, at, theory) <= 5.0);
  if (l <= 6) CHECK(largest_z(more, at, careless) > 5.0);
}

TEST_CASE("for centered inputs and a long context linear attention and approximate softmax err alike") {
  RegressionCases cases(32);
  const auto attention = cases.attention(3);
  const auto task = cases.task(3).with_input_mean(Vector<double>::Zero(3));
  const std::int64_t l = 1'000'000'000;
  const auto linear = linear_attention_error(attention, task, l);
  const auto softmax = generalization_error(attention, task, l, {.offset = Offset::removed});
  CHECK(std::abs(linear.constant / softmax.constant - 1.0) <= 1e-15);
  CHECK(std::abs(linear.linear / softmax.linear - 1.0) <= 1e-8);
  CHECK(std::abs(linear.quadratic / softmax.quadratic - 1.0) <= 1e-8);
}

TEST_CASE("linear_attention_error refuses a context of one and shapes that do not fit") {
  RegressionCases cases(33);
  const auto attention = cases.attention(2);
  const auto task = cases.task(2);
  CHECK_THROWS_AS(linear_attention_error(attention, task, 1), std::invalid_argument);
  CHECK(
      refuses<std::logic_error>([&] { linear_attention_error(attention, task, 1); }, {"context_length", "value = 1"}));
  CHECK(
      refuses<std::logic_error>([&] { linear_attention_error(cases.attention(3), task, 4); }, {"key_query", "3 x 3"}));
}
