#include "incontext/simulate/regression/ridge_risk.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <random>

#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "incontext/regression/centered_ridge.hpp"
#include "incontext/regression/centered_ridge_risk.hpp"
#include "incontext/regression/input_rows.hpp"
#include "incontext/regression/posterior.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/catch.hpp"

namespace centered_ridge_test {

namespace {

using namespace incontext;
using regression::Matrix;
using regression::Vector;

enum class Predictor { centered_ridge, posterior_mean };

/// The mean squared error of a predictor that is run as it is defined, on contexts of another generator.
template <class DrawInput>
statistics::Estimate literal_risk(const regression::LinearTask<double>& task, std::int64_t context_length, int trials,
                                  const DrawInput& draw_input, Predictor predictor = Predictor::centered_ridge) {
  std::mt19937_64 engine(99);
  std::normal_distribution<double> normal;
  const auto fresh = [&](Eigen::Index n) {
    return Vector<double>::NullaryExpr(n, [&] { return normal(engine); }).eval();
  };
  const Matrix<double> task_factor = task.task_covariance().llt().matrixL();
  std::vector<double> errors;
  for (int trial = 0; trial < trials; ++trial) {
    const Vector<double> w = task.task_mean() + task_factor * fresh(task.dimension());
    Matrix<double> inputs(context_length, task.dimension());
    for (Eigen::Index j = 0; j < context_length; ++j) inputs.row(j) = draw_input(engine).transpose();
    const Vector<double> labels = inputs * w + std::sqrt(task.noise_variance()) * fresh(context_length);
    const auto of =
        predictor == Predictor::posterior_mean ? regression::posterior<double> : regression::centered_ridge<double>;
    const auto posterior = of(inputs, labels, task.task_mean(), task.task_covariance(), task.noise_variance());
    const Vector<double> query = draw_input(engine);
    const double error = query.dot(posterior.mean) - query.dot(w) - std::sqrt(task.noise_variance()) * normal(engine);
    errors.push_back(error * error);
  }
  return statistics::Estimate(statistics::moments_of(errors.data(), static_cast<std::int64_t>(errors.size())));
}

}  // namespace

TEST_CASE("the ridge trial agrees with the ridge and with the posterior mean run literally, and tells them apart") {
  const auto task = testing::general_task();  // its inputs have a mean
  const Matrix<double> factor = task.input_covariance().llt().matrixL();
  const auto draw = [&](std::mt19937_64& engine) {
    std::normal_distribution<double> normal;
    Vector<double> g(task.dimension());
    for (Eigen::Index i = 0; i < g.size(); ++i) g(i) = normal(engine);
    return Vector<double>(task.input_mean() + factor * g);
  };
  for (const std::int64_t context_length : {2, 3, 12}) {
    const auto literal = literal_risk(task, context_length, 40000, draw);
    const auto trial = simulate::centered_ridge_risk(task, context_length, {.seed = 31, .trials = 1 << 16});
    CAPTURE(context_length, literal.mean, trial.estimates[0].mean);
    CHECK(std::abs(literal.mean - trial.estimates[0].mean) <= 5 * literal.standard_error);
    const auto other = simulate::centered_ridge_risk(task, context_length + 3, {.seed = 31, .trials = 1 << 16});
    CHECK(std::abs(literal.mean - other.estimates[0].mean) > 5 * literal.standard_error);
    const auto least = literal_risk(task, context_length, 40000, draw, Predictor::posterior_mean);
    const auto of_all = simulate::posterior_risk(task, context_length, {.seed = 31, .trials = 1 << 16}).estimates[0];
    CHECK(std::abs(least.mean - of_all.mean) <= 5 * least.standard_error);
    CHECK(of_all.mean + 5 * of_all.standard_error < trial.estimates[0].mean);
  }
}

TEST_CASE(
    "centering costs the ridge one example: its risk is that of the posterior mean with one less, above the floor") {
  const double noise = 0.1, prior = 0.5;
  const int d = 5;
  const auto task =
      regression::LinearTask<double>::isotropic({.dimension = d, .task_variance = prior, .noise_variance = noise});
  const auto of_one = simulate::posterior_risk(task, 1, {.seed = 34, .trials = 1 << 16}).estimates[0];
  CHECK(std::abs(of_one.mean - baselines::bayes_risk(baselines::WishartSpectrum<double>(1, d), {noise, prior})) <=
        5 * of_one.standard_error);
  for (const std::int64_t l : {2, 3, 5, 6, 7, 20}) {
    const auto risk = simulate::centered_ridge_risk(task, l, {.seed = 32, .trials = 1 << 16}).estimates[0];
    const auto of_posterior = [&](std::int64_t examples) {
      return baselines::bayes_risk(baselines::WishartSpectrum<double>(examples, d), {noise, prior});
    };
    CAPTURE(l, risk.mean, risk.standard_error);
    CHECK(std::abs(risk.mean - of_posterior(l - 1)) <= 5 * risk.standard_error);
    CHECK(risk.mean - of_posterior(l) > 10 * risk.standard_error);
    const auto least = simulate::posterior_risk(task, l, {.seed = 33, .trials = 1 << 16}).estimates[0];
    CHECK(std::abs(least.mean - of_posterior(l)) <= 5 * least.standard_error);
  }
}

TEST_CASE("the ridge trial on rows agrees with the ridge run literally on rows") {
  const Matrix<double> rows{{1.0, 0.5}, {-0.25, 2.0}, {0.75, -1.0}, {3.0, 0.125}, {-1.0, -0.5}};
  const regression::InputRows<double> law(rows);
  const regression::LinearTask<double> task(
      {law.mean(), law.covariance(), Vector<double>::Zero(2), Matrix<double>{{0.5, 0.125}, {0.125, 0.25}}, 0.3});
  const auto draw = [&](std::mt19937_64& engine) {
    return Vector<double>(rows.row(std::uniform_int_distribution<Eigen::Index>(0, 4)(engine)).transpose());
  };
  for (const std::int64_t context_length : {2, 6}) {
    const auto literal = literal_risk(task, context_length, 40000, draw);
    const auto trial = simulate::centered_ridge_risk_on_rows(rows, task.task_covariance(), 0.3, context_length,
                                                             {.seed = 32, .trials = 1 << 16});
    CHECK(std::abs(literal.mean - trial.estimates[0].mean) <= 5 * literal.standard_error);
    const auto least = literal_risk(task, context_length, 40000, draw, Predictor::posterior_mean);
    const auto of_all = simulate::posterior_risk_on_rows(rows, task.task_covariance(), 0.3, context_length,
                                                         {.seed = 32, .trials = 1 << 16});
    CHECK(std::abs(least.mean - of_all.estimates[0].mean) <= 5 * least.standard_error);
    CHECK(of_all.estimates[0].mean < trial.estimates[0].mean);
  }
}

TEST_CASE("the deterministic equivalent is off by order 1/d, and by 6% where l = d = 20") {
  // Relative deviations measured: l = d/2, d, 2d, 5d at d = 20: -0.2, -6.0, -2.6, -0.3%; at d = 80: a third or less.
  const auto deviation = [](std::int64_t dimension, std::int64_t context_length) {
    const auto task = regression::LinearTask<double>::isotropic({.dimension = dimension,
                                                                 .input_variance = 1.5,
                                                                 .task_variance = 5.0 / static_cast<double>(dimension),
                                                                 .noise_variance = 0.1});
    const auto risk = simulate::centered_ridge_risk(task, context_length, {.seed = 33, .trials = 1 << 12}).estimates[0];
    CHECK(risk.relative_error() < 0.002);
    return regression::centered_ridge_risk_equivalent(task, context_length).risk / risk.mean - 1;
  };
  CHECK(std::abs(deviation(20, 10)) < 0.005);
  CHECK(std::abs(deviation(20, 100)) < 0.005);
  const double small = deviation(20, 20);
  const double large = deviation(80, 80);
  CHECK(small < -0.05);
  CHECK(small > -0.07);
  CHECK(large > 0.5 * small);
  CHECK(large < -0.01);
}

TEST_CASE("the ridge's rounding grows with the condition number of the matrix that it factorizes") {
  const auto rounding = [](double noise) {
    const auto task = testing::isotropic_task(5).with_noise_variance(noise);
    const auto risk = simulate::centered_ridge_risk(task, 40, {.seed = 34, .trials = 256}).estimates[0];
    CHECK(risk.rounding > 0);
    return risk.rounding / risk.mean;
  };
  CHECK(rounding(0.1) < 1e-11);
  CHECK(rounding(1e-8) > 1e5 * rounding(0.1));
  CHECK(rounding(1e-8) < 1e-4);
}

TEST_CASE("the ridge simulation refuses a model without noise and a context of one") {
  const auto task = testing::general_task();
  CHECK_THROWS_AS(simulate::centered_ridge_risk(task.with_noise_variance(0.0), 5, {.trials = 10}), std::domain_error);
  CHECK_THROWS_AS(simulate::centered_ridge_risk(task, 1, {.trials = 10}), std::invalid_argument);
}

}  // namespace centered_ridge_test
