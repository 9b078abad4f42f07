#include "incontext/simulate/baselines/baseline_errors.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/statistics/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::baseline_errors_test {

namespace {

using simulate::baseline_errors;
using simulate::BaselineSetting;

const BaselineSetting settings[] = {
    {.dimension = 5, .examples = 9, .task = {0.25, 0.2}, .descents = {{0.5}, {0.2, 0.7}}, .penalties = {1.25, 0.3, 0}},
    {.dimension = 7, .examples = 4, .task = {0.1, 0.5}, .descents = {{}, {0.3, 0.3, 0.3}}, .penalties = {0.2}},
    {.dimension = 1, .examples = 1, .task = {1, 2}, .descents = {{0.4}}, .penalties = {0.5}},
};

/// The same by dense matrices and another generator, on a query that is drawn: the squared error on its noisy label.
std::vector<SampleMean> literal_errors(const BaselineSetting& at, int trials) {
  std::mt19937_64 engine(31);
  std::normal_distribution<double> normal;
  const auto draw = [&](std::int64_t rows, std::int64_t columns) {
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); })
        .eval();
  };
  std::vector<SampleMean> errors(at.descents.size() + at.penalties.size());
  for (int trial = 0; trial < trials; ++trial) {
    const Eigen::MatrixXd x = draw(at.examples, at.dimension), query = draw(1, at.dimension);
    const Eigen::VectorXd w = std::sqrt(at.task.task_variance) * draw(at.dimension, 1);
    const Eigen::VectorXd y = x * w + std::sqrt(at.task.noise_variance) * draw(at.examples, 1);
    const double label = (query * w).value() + std::sqrt(at.task.noise_variance) * normal(engine);
    const auto add = [&](SampleMean& mean, const Eigen::VectorXd& estimate) {
      const double error = (query * estimate).value() - label;
      mean.add(error * error);
    };
    for (std::size_t k = 0; k < at.descents.size(); ++k) {
      Eigen::VectorXd estimate = Eigen::VectorXd::Zero(at.dimension);
      for (const double rate : at.descents[k]) {
        estimate += rate / static_cast<double>(at.examples) * (x.transpose() * (y - x * estimate));
      }
      add(errors[k], estimate);
    }
    for (std::size_t k = 0; k < at.penalties.size(); ++k) {
      Eigen::MatrixXd gram = x.transpose() * x;
      gram.diagonal().array() += at.penalties[k];
      add(errors[at.descents.size() + k], gram.llt().solve(x.transpose() * y));
    }
  }
  return errors;
}

}  // namespace

TEST_CASE("descent and ridge on drawn contexts agree with the same by dense matrices, and with no other",
          "[statistics]") {
  for (const BaselineSetting& at : settings) {
    const auto run = baseline_errors(at, {.seed = 11, .trials = 1 << 16});
    std::vector<SampleMean> literal = literal_errors(at, 60000);
    REQUIRE(run.estimates.size() == literal.size());
    for (std::size_t k = 0; k < literal.size(); ++k) {
      const double error = std::hypot(literal[k].standard_error(), run.estimates[k].standard_error);
      CAPTURE(at.dimension, k, run.estimates[k].mean, literal[k].mean(), error);
      // 9 comparisons
      CHECK(std::abs(run.estimates[k].mean - literal[k].mean()) <= 5 * error);
    }
  }
}

TEST_CASE("the drawn errors agree with the exact risks, and reject the rule of another length", "[statistics]") {
  for (const BaselineSetting& at : settings) {
    const auto run = baseline_errors(at, {.seed = 12, .trials = 1 << 17});
    const baselines::WishartSpectrum<double> spectrum(at.examples, at.dimension);
    const baselines::WishartSpectrum<double> longer(at.examples + 1, at.dimension);
    const auto judge = [&](double exact, double other, const statistics::Estimate& drawn) {
      CAPTURE(at.dimension, exact, other, drawn.mean, drawn.standard_error);
      CHECK(std::abs(statistics::agree({exact}, drawn).z) <= 5);
      if (std::abs(other - exact) > 1e-12) CHECK(std::abs(statistics::agree({other}, drawn).z) > 5);
    };
    for (std::size_t k = 0; k < at.descents.size(); ++k) {
      judge(baselines::descent_risk(spectrum, at.task, at.descents[k]),
            baselines::descent_risk(longer, at.task, at.descents[k]), run.estimates[k]);
    }
    for (std::size_t k = 0; k < at.penalties.size(); ++k) {
      judge(baselines::ridge_risk(spectrum, at.task, at.penalties[k]),
            baselines::ridge_risk(longer, at.task, at.penalties[k]), run.estimates[at.descents.size() + k]);
    }
  }
}

TEST_CASE("a descent's bits do not depend on what else is simulated") {
  BaselineSetting at = settings[0];
  const double both = baseline_errors(at, {.seed = 3, .trials = 1000}).estimates[1].mean;
  at.descents.erase(at.descents.begin());
  at.penalties.clear();
  CHECK(baseline_errors(at, {.seed = 3, .trials = 1000}).estimates[0].mean == both);
}

TEST_CASE("the simulation of baselines refuses what it cannot draw, by name") {
  const auto refused = [](auto change, std::string_view named) {
    BaselineSetting at = settings[0];
    change(at);
    return names(message_of([&] { baseline_errors(at, {.trials = 10}); }), "simulate::baseline_errors", named);
  };
  CHECK(refused([](auto& at) { at.dimension = 0; }, "dimension"));
  CHECK(refused([](auto& at) { at.examples = 0; }, "examples"));
  CHECK(refused([](auto& at) { at.examples = 4'000'000'000; }, "4e9"));
  CHECK(refused([](auto& at) { at.task.noise_variance = -1; }, "noise_variance"));
  CHECK(refused([](auto& at) { at.descents[1][0] = NAN; }, "descents[1][0]"));
  CHECK(refused([](auto& at) { at.penalties[0] = -1; }, "penalties[0]"));
  CHECK(refused([](auto& at) { at.examples = 8; }, "penalties[2]"));
  CHECK(refused([](auto& at) { at.descents = {}, at.penalties = {}; }, "descents.size()"));
}

}  // namespace incontext::testing::baseline_errors_test
