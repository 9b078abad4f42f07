#include "incontext/regression/pretrained_attention.hpp"

#include <Eigen/LU>
#include <cmath>
#include <limits>
#include <random>

#include "incontext/regression/centered_ridge_risk.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

TEST_CASE("pretrained parameters agree with the formula with inverses in long double") {
  using Wide = Matrix<long double>;
  const Eigen::Index d = GENERATE(1, 3, 6);
  RegressionCases cases(61);
  const auto task = cases.task(d, 0.75);
  const auto attention = pretrained_attention(task, 7);
  const Wide sigma = as<long double>(task.input_covariance());
  const Wide prior_inverse = as<long double>(task.task_covariance()).inverse();
  const long double ridge = 0.75L / 7.0L;
  const Wide m = (sigma + ridge * prior_inverse).inverse();
  const Vector<long double> v = ridge * sigma.inverse() * prior_inverse * as<long double>(task.task_mean());
  CHECK((as<long double>(attention.key_query) - m).norm() <= 1e-13L * m.norm());
  CHECK((as<long double>(attention.input_value) - v).norm() <= 1e-12L * v.norm());
  CHECK(attention.label_value == 1.0);
  // Power: the ridge of another context length is rejected.
  CHECK((as<long double>(pretrained_attention(task, 8).key_query) - m).norm() > 1e-4L * m.norm());
}

TEST_CASE("without noise the pretrained attention inverts the covariance and ignores the prior") {
  RegressionCases cases(62);
  const auto task = cases.task(4, 0.0);
  const auto attention = pretrained_attention(task, 5);
  CHECK((attention.key_query * task.input_covariance() - Matrix<double>::Identity(4, 4)).norm() <= 1e-12);
  CHECK(attention.input_value == Vector<double>::Zero(4));
}

TEST_CASE("in long contexts attention exceeds the noise by more than the Bayes risk does, with and without a mean") {
  RegressionCases cases(63);
  const auto shifted = cases.task(5, 0.5);
  const std::int64_t l = 10'000'000;
  for (const auto& task : {shifted, shifted.with_input_mean(Vector<double>::Zero(5))}) {
    const Vector<double>& mu = task.input_mean();
    const Matrix<double> tasks = task.task_second_moment();
    const double signal = trace_of_product<double>(tasks, task.input_covariance());
    const double mean = mu.dot(task.input_covariance().llt().solve(mu)), labels = signal + mu.dot(tasks * mu);
    const auto error = generalization_error(pretrained_attention(task, l), task, l, {.offset = Offset::removed});
    const auto excess = [&](double of) { return (of - 0.5) * static_cast<double>(l); };
    const double expected = (5 + mean) * (signal + 0.5) + labels;
    CHECK(std::abs(excess(error(1.0)) / expected - 1) < 1e-5);
    CHECK(std::abs(excess(error.minimum()) / expected - 1) < 1e-5);
    CHECK(std::abs(excess(centered_ridge_risk_equivalent(task, l).risk) / (5 * 0.5) - 1) < 1e-3);
    // Power: the covariance of C w without its part along w; the sampling error of C forgotten altogether.
    CHECK_FALSE(std::abs(excess(error(1.0)) / (expected - labels) - 1) < 0.05);
    CHECK_FALSE(std::abs(excess(error(1.0)) / ((5 + mean) * 0.5) - 1) < 0.05);
    // The leading order has no tr(R S): it takes E[C] for S.
    if (mean > 0) continue;
    const auto leading = generalization_error_leading_order(pretrained_attention(task, l), task, l);
    CHECK(std::abs(excess(leading.minimum()) / (expected - labels) - 1) < 1e-4);
  }
}

TEST_CASE("Corollary 4.6: without a shift the pretrained error at temperature 1 tends to the Bayes risk") {
  RegressionCases cases(63);
  const auto task = cases.task(5, 0.5);
  double before = 0.0;
  for (const std::int64_t l : {1000, 100'000, 10'000'000}) {
    const auto error = generalization_error(pretrained_attention(task, l), task, l, {.offset = Offset::removed});
    const double bayes = centered_ridge_risk_equivalent(task, l).risk;
    const double distance = error(1.0) - bayes;
    CHECK(distance > 0.0);
    CHECK(distance * static_cast<double>(l) < 1000.0);
    if (before > 0.0) CHECK(std::abs(before / distance - 100.0) < 2.0);  // it vanishes as d / l
    before = distance;
    CHECK(std::abs(error.optimal_temperature() - 1.0) * static_cast<double>(l) < 1000.0);
  }
  // Power: with a shift of the inputs the distance does not vanish.
  const auto shifted = task.with_input_covariance_scaled(2.0);
  const auto error =
      generalization_error(pretrained_attention(task, 10'000'000), shifted, 10'000'000, {.offset = Offset::removed});
  CHECK(error(1.0) > 1.5 * centered_ridge_risk_equivalent(shifted, 10'000'000).risk);
  // The optimal temperature undoes the shift.
  CHECK(std::abs(error.optimal_temperature() - 2.0) < 1e-3);
}

TEST_CASE("pretraining on data finds the attention of the data's law") {
  RegressionCases cases(64);
  const auto task = cases.task(3, 0.25);
  std::mt19937_64 engine(65);
  const Eigen::Index rows = 40'000;
  const Matrix<double> root = task.input_covariance().llt().matrixL();
  Matrix<double> inputs(rows, 3);
  for (Eigen::Index i = 0; i < rows; ++i) {
    inputs.row(i) = (task.input_mean() + root * standard_normals(3, engine)).transpose();
  }
  const auto learned = pretrained_attention_from_data(inputs, task.task_mean(), task.task_covariance(), 0.25, 10);
  const auto exact = pretrained_attention(task, 10);
  CHECK((learned.key_query - exact.key_query).norm() <= 0.05 * exact.key_query.norm());
  CHECK((learned.input_value - exact.input_value).norm() <= 0.05 * exact.input_value.norm());

  // Exactly: the attention of the covariance about the mean, divided by the number of rows.
  const Matrix<double> centered = inputs.rowwise() - inputs.colwise().mean();
  const Matrix<double> covariance = centered.transpose() * centered / static_cast<double>(rows);
  const auto same = pretrained_attention(task.with_input_covariance(covariance), 10);
  CHECK((learned.key_query - same.key_query).norm() <= 1e-12 * same.key_query.norm());
}

TEST_CASE("pretrained_attention refuses a context of one, and data that determine nothing") {
  RegressionCases cases(66);
  const auto task = cases.task(2);
  CHECK_THROWS_AS(pretrained_attention(task, 1), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { pretrained_attention(task, 1); }, {"context_length", "value = 1"}));
  const auto from = [&](const Matrix<double>& inputs, double noise) {
    return refuses<std::logic_error>(
        [&] { pretrained_attention_from_data(inputs, task.task_mean(), task.task_covariance(), noise, 5); }, {});
  };
  Matrix<double> inputs = cases.matrix(10, 2);
  CHECK_FALSE(from(inputs, 0.1));
  CHECK(from(inputs.topRows(2), 0.1));
  CHECK(from(inputs, -0.1));
  inputs.col(1) = 2.0 * inputs.col(0);
  CHECK(from(inputs, 0.1));
}
