#include "incontext/regression/trained_attention.hpp"

#include <cmath>
#include <cstdint>

#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

LinearTask<double> centered(RegressionCases& cases, Eigen::Index d) {
  return cases.task(d, 0.5).with_input_mean(Vector<double>::Zero(d)).with_task_mean(Vector<double>::Zero(d));
}

double slope(const ErrorGradient<double>& gradient) { return gradient.attention.key_query.norm(); }

}  // namespace

TEST_CASE("the exact errors have no slope at the trained layers, and one at the paper's pretrained layer") {
  const Eigen::Index d = GENERATE(1, 3, 6);
  const std::int64_t l = GENERATE(2, 12, 40);
  RegressionCases cases(91);
  const auto task = centered(cases, d);
  const auto pretrained = pretrained_attention(task, l);
  const double scale = slope(generalization_error_gradient(pretrained, task, l, 1.0));
  const auto softmax = trained_attention(task, l);
  const auto linear = trained_linear_attention(task, l);
  CHECK(slope(generalization_error_gradient(softmax, task, l, 1.0)) <= 1e-12 * scale);
  CHECK(slope(linear_attention_error_gradient(linear, task, l, 1.0)) <= 1e-12 * scale);
  CHECK(linear_attention_error_gradient(linear, task, l, 1.0).attention.input_value.norm() <= 1e-12 * scale);
  CHECK(std::abs(linear_attention_error_gradient(linear, task, l, 1.0).attention.label_value) <= 1e-12 * scale);
  CHECK(std::abs(generalization_error(softmax, task, l).optimal_temperature() - 1) <= 1e-12);
  CHECK(generalization_error(softmax, task, l)(1.0) < generalization_error(pretrained, task, l).minimum() + 1e-12);
  // Power: each is not the optimum of the other map, and the paper's layer has another best temperature.
  CHECK(slope(generalization_error_gradient(linear, task, l, 1.0)) > 1e-4 * scale);
  CHECK(slope(linear_attention_error_gradient(softmax, task, l, 1.0)) > 1e-4 * scale);
  CHECK(generalization_error(pretrained, task, l).optimal_temperature() > 1.01);
}

TEST_CASE("in long contexts the trained layers and the paper's pretrained layer are one") {
  RegressionCases cases(92);
  const auto task = centered(cases, 4);
  const auto off = [&](const Attention<double>& layer, std::int64_t l) {
    const Matrix<double> pretrained = pretrained_attention(task, l).key_query;
    return (layer.key_query - pretrained).norm() / pretrained.norm();
  };
  CHECK(off(trained_attention(task, 1'000'000'000), 1'000'000'000) < 1e-6);
  CHECK(off(trained_linear_attention(task, 1'000'000'000), 1'000'000'000) < 1e-6);
  CHECK(off(trained_attention(task, 100), 100) > 1e-3);
}

TEST_CASE("trained attention refuses a mean of inputs or tasks and contexts of one example") {
  RegressionCases cases(93);
  const auto task = centered(cases, 2);
  const Vector<double> mean = Vector<double>::Constant(2, 0.5);
  CHECK_THROWS_AS(trained_attention(task.with_input_mean(mean), 5), std::domain_error);
  CHECK_THROWS_AS(trained_linear_attention(task.with_task_mean(mean), 5), std::domain_error);
  CHECK_THROWS_AS(trained_attention(task, 1), std::invalid_argument);
}
