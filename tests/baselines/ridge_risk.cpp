#include "incontext/baselines/ridge_risk.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

#include "incontext/regression/centered_ridge_risk.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace baselines;

namespace {

/// The squared error on one query of ridge regression on one context, all drawn.
double drawn_error(std::int64_t examples, std::int64_t dimension, const TaskVariances<double>& task, double penalty,
                   std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const auto draw = [&](Eigen::Index size) {
    return Eigen::VectorXd::NullaryExpr(size, [&](Eigen::Index) { return normal(engine); }).eval();
  };
  Eigen::MatrixXd x(examples, dimension);
  for (Eigen::Index i = 0; i < examples; ++i) x.row(i) = draw(dimension).transpose();
  const Eigen::VectorXd w = std::sqrt(task.task_variance) * draw(dimension), query = draw(dimension);
  const double noise = std::sqrt(task.noise_variance);
  const Eigen::VectorXd labels = x * w + noise * draw(examples);
  const Eigen::MatrixXd gram = x * x.transpose() + penalty * Eigen::MatrixXd::Identity(examples, examples);
  const double answer = query.dot(x.transpose() * gram.llt().solve(labels));
  const double error = query.dot(w) + noise * normal(engine) - answer;
  return error * error;
}

}  // namespace

TEST_CASE("ridge regression on drawn contexts has this error, and not one 5% larger", "[statistics]") {
  const TaskVariances<double> task{.noise_variance = 0.1, .task_variance = 0.05};
  // 3 comparisons at |z| <= 5
  for (const double factor : {0.2, 1.0, 4.0}) {
    const double penalty = factor * task.noise_variance / task.task_variance;
    std::mt19937_64 engine(772);
    SampleMean error;
    for (int trial = 0; trial < 40'000; ++trial) error.add(drawn_error(20, 20, task, penalty, engine));
    const WishartSpectrum<double> spectrum(20, 20);
    CHECK(std::abs(error.z(ridge_risk(spectrum, task, penalty))) <= 5);
    CHECK_FALSE(std::abs(error.z(1.05 * ridge_risk(spectrum, task, penalty))) <= 5);
  }
}

TEST_CASE("the limit for large d and l is off by 5.8% at l = d = 20, and by a quarter of it at 80") {
  const auto off = [](std::int64_t d) {
    const double prior = 5.0 / static_cast<double>(d);
    const auto limit = regression::centered_ridge_risk_isotropic_limit<double>(
        {.dimension = d, .input_variance = 1.5, .task_variance = prior, .noise_variance = 0.1}, d);
    // the context is centered, which takes one example
    const WishartSpectrum<double> spectrum(d - 1, d);
    return limit / bayes_risk<double>(spectrum, {.noise_variance = 0.1, .task_variance = 1.5 * prior}) - 1;
  };
  CHECK(off(20) == Approx(-0.0576).epsilon(0.01));
  CHECK(off(80) == Approx(-0.0202).epsilon(0.01));
}

TEST_CASE("the Bayes risk is ridge regression's least error") {
  const TaskVariances<double> task{.noise_variance = 0.3, .task_variance = 0.2};
  for (const auto& [examples, dimension] : {std::pair{3, 5}, std::pair{8, 8}, std::pair{30, 6}}) {
    const WishartSpectrum<double> spectrum(examples, dimension);
    const double best = bayes_risk(spectrum, task);
    CHECK(relative(ridge_risk(spectrum, task, 1.5), best) < 1e-14);
    CHECK(ridge_risk(spectrum, task, 1.6) > best);
    CHECK(ridge_risk(spectrum, task, 1.4) > best);
    CHECK(relative(ridge_risk(spectrum, task, 1e12), 0.3 + 0.2 * dimension) < 1e-10);
  }
}

TEST_CASE("least squares is ridge regression of no penalty") {
  const TaskVariances<double> task{.noise_variance = 0.3, .task_variance = 0.2};
  for (const auto& [examples, dimension] : {std::pair{3, 5}, std::pair{4, 12}, std::pair{8, 5}, std::pair{60, 6}}) {
    const WishartSpectrum<double> spectrum(examples, dimension);
    CHECK(relative(ridge_risk(spectrum, task, 0.0), least_squares_risk(examples, dimension, task)) < 1e-12);
  }
  for (const int examples : {4, 5, 6}) {
    CHECK(least_squares_risk(examples, 5, task) == std::numeric_limits<double>::infinity());
  }
  CHECK(least_squares_risk<double>(5, 5, {.noise_variance = 0, .task_variance = 0.2}) == 0.0);
  CHECK(least_squares_risk(0, 1, task) == Approx(0.5).epsilon(1e-15));
}

TEST_CASE("limits: no examples, no noise, no prior") {
  const WishartSpectrum<double> none(0, 4), few(2, 4), many(9, 4);
  CHECK(bayes_risk<double>(none, {0.1, 0.25}) == Approx(1.1).epsilon(1e-15));
  CHECK(bayes_risk<double>(few, {0.0, 0.25}) == Approx(0.5).epsilon(1e-15));
  CHECK(bayes_risk<double>(many, {0.0, 0.25}) == 0.0);
  CHECK(bayes_risk<double>(many, {0.1, 0.0}) == 0.1);
  CHECK(mutual_information<double>(none, {0.1, 0.25}) == 0.0);
  CHECK(mutual_information<double>(many, {0.1, 0.0}) == 0.0);
}

TEST_CASE("the information of one example about one task entry is an integral over a chi square") {
  // E log(1 + r g^2) / 2, g N(0, 1), by a fine sum
  const double ratio = 3;
  double sum = 0;
  for (double g = -14; g <= 14; g += 1.0 / 512) sum += std::exp(-g * g / 2) * std::log1p(ratio * g * g);
  const double expected = sum / 512 / std::sqrt(2 * 3.14159265358979323846) / 2;
  const WishartSpectrum<double> spectrum(1, 1);
  CHECK(relative(mutual_information<double>(spectrum, {0.5, 1.5}), expected) < 1e-13);
}

TEST_CASE("bad variances and penalties are refused by name") {
  const WishartSpectrum<double> spectrum(3, 2);
  CHECK(refuses<std::domain_error>([&] { bayes_risk<double>(spectrum, {-0.1, 1}); }, {"noise_variance", "-0.1"}));
  CHECK(refuses<std::domain_error>([&] { bayes_risk<double>(spectrum, {0.1, NAN}); }, {"task_variance", "nan"}));
  CHECK(refuses<std::domain_error>([&] { ridge_risk<double>(spectrum, {0.1, 1}, -2.0); }, {"penalty", "-2"}));
  CHECK(refuses<std::domain_error>([&] { mutual_information<double>(spectrum, {0, 1}); }, {"noise_variance"}));
  CHECK(refuses<std::invalid_argument>([] { least_squares_risk<double>(-1, 2, {0.1, 1}); }, {"examples"}));
  CHECK(refuses<std::invalid_argument>([] { least_squares_risk<double>(1, 0, {0.1, 1}); }, {"dimension"}));
}

}  // namespace incontext::testing
