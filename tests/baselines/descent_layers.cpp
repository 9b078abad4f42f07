#include "incontext/baselines/descent_layers.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace baselines;

namespace {

struct Setting {
  std::int64_t examples, dimension;
  TaskVariances<double> task;
};

const Setting settings[] = {{20, 20, {0.1, 0.05}}, {8, 5, {0.25, 0.2}}, {7, 12, {0.01, 1.0 / 12}}, {40, 20, {0, 0.05}}};

/// The squared error on one query, of layers that act on labels and on the query's answer, as attention does.
double drawn_error(const Setting& at, const std::vector<double>& rates, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const auto draw = [&](std::int64_t rows, std::int64_t columns) {
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); })
        .eval();
  };
  const Eigen::MatrixXd x = draw(at.examples, at.dimension), query = draw(1, at.dimension);
  const Eigen::VectorXd w = std::sqrt(at.task.task_variance) * draw(at.dimension, 1);
  const double noise = std::sqrt(at.task.noise_variance), l = static_cast<double>(at.examples);
  Eigen::VectorXd labels = x * w + noise * draw(at.examples, 1);
  double answer = 0;
  for (const double rate : rates) {
    const Eigen::VectorXd seen = labels;
    const Eigen::VectorXd scores = x * query.transpose();
    answer += rate / l * scores.dot(seen);
    for (Eigen::Index i = 0; i < labels.size(); ++i) labels(i) -= rate / l * (x * x.row(i).transpose()).dot(seen);
  }
  const double error = (query * w).value() + noise * normal(engine) - answer;
  return error * error;
}

}  // namespace

TEST_CASE("layers run on labels have the error of their rates, and not one 8% larger", "[statistics]") {
  // 8 comparisons at |z| <= 5
  for (const Setting& at : settings) {
    const WishartSpectrum<double> spectrum(at.examples, at.dimension);
    for (const std::vector<double>& rates : {std::vector<double>{0.3}, std::vector<double>{0.2, 0.5, 0.7}}) {
      std::mt19937_64 engine(774);
      SampleMean error;
      for (int trial = 0; trial < 20'000; ++trial) error.add(drawn_error(at, rates, engine));
      CAPTURE(at.examples, at.dimension, rates.size());
      CHECK(std::abs(error.z(descent_risk(spectrum, at.task, rates))) <= 5);
      CHECK_FALSE(std::abs(error.z(1.08 * descent_risk(spectrum, at.task, rates))) <= 5);
    }
  }
}

TEST_CASE("the best rate of one layer is closed") {
  for (const Setting& at : settings) {
    const WishartSpectrum<double> spectrum(at.examples, at.dimension);
    const auto l = static_cast<double>(at.examples), d = static_cast<double>(at.dimension);
    const double expected = 1 / (1 + (d + 1) / l + at.task.noise_variance / (l * at.task.task_variance));
    const auto best = optimal_layers(spectrum, at.task, 1), looped = looped_layers(spectrum, at.task, 1);
    CHECK(relative(best.learning_rates.at(0), expected) < 1e-13);
    CHECK(relative(best.risk, best.lower_bound) < 1e-14);
    CHECK(relative(looped.learning_rates.at(0), expected) < 1e-7);
    CHECK(relative(looped.risk, best.risk) < 1e-14);
  }
}

TEST_CASE("no rates that are tried have less error than the best, and none less than the bound") {
  std::mt19937_64 engine(775);
  std::normal_distribution<double> normal;
  for (const Setting& at : settings) {
    const WishartSpectrum<double> spectrum(at.examples, at.dimension);
    double before = descent_risk(spectrum, at.task, {});
    for (const std::int64_t layers : {1, 2, 3, 5, 8}) {
      const auto best = optimal_layers(spectrum, at.task, layers), looped = looped_layers(spectrum, at.task, layers);
      CAPTURE(at.examples, at.dimension, layers);
      CHECK(best.risk < before);
      CHECK(best.risk >= best.lower_bound * (1 - 1e-13));
      CHECK(best.risk <= looped.risk * (1 + 1e-13));
      CHECK(best.lower_bound >= bayes_risk(spectrum, at.task) * (1 - 1e-13));
      CHECK(relative(descent_risk(spectrum, at.task, best.learning_rates), best.risk) < 1e-15);
      CHECK(std::is_sorted(best.learning_rates.begin(), best.learning_rates.end()));
      for (int trial = 0; trial < 100; ++trial) {
        std::vector<double> rates = best.learning_rates;
        for (double& rate : rates) rate *= 1 + (trial % 2 == 0 ? 1e-3 : 0.2) * normal(engine);
        CHECK(descent_risk(spectrum, at.task, rates) >= best.risk * (1 - 1e-12));
      }
      before = best.risk;
    }
  }
}

TEST_CASE("without noise the best polynomial has real roots, with noise and many layers complex ones") {
  const WishartSpectrum<double> spectrum(8, 5);
  const auto clean = optimal_layers<double>(spectrum, {0.0, 0.2}, 6),
             noisy = optimal_layers<double>(spectrum, {0.25, 0.2}, 6);
  CHECK(relative(clean.risk, clean.lower_bound) < 1e-9);
  CHECK(noisy.risk > 1.005 * noisy.lower_bound);
}

TEST_CASE("layers needed: one fewer does not suffice") {
  for (const Setting& at : settings) {
    if (!(at.task.noise_variance > 0)) continue;
    const WishartSpectrum<double> spectrum(at.examples, at.dimension);
    const double floor = bayes_risk(spectrum, at.task), noise = at.task.noise_variance;
    const std::int64_t layers = layers_needed(spectrum, at.task, 0.2);
    CAPTURE(at.examples, at.dimension, layers);
    REQUIRE(layers >= 2);
    REQUIRE(layers <= 64);
    CHECK(optimal_layers(spectrum, at.task, layers).risk <= floor + 0.2 * (floor - noise));
    CHECK(optimal_layers(spectrum, at.task, layers - 1).risk > floor + 0.2 * (floor - noise));
  }
}

TEST_CASE("limits of layers: none, and no example") {
  const WishartSpectrum<double> none(0, 4), some(6, 4);
  CHECK(descent_risk<double>(none, {0.1, 0.25}, {0.5, 0.5}) == Approx(1.1).epsilon(1e-15));
  CHECK(descent_risk<double>(some, {0.1, 0.25}, {}) == Approx(1.1).epsilon(1e-14));
  CHECK(optimal_layers<double>(some, {0.1, 0.25}, 0).learning_rates.empty());
}

TEST_CASE("bad layers are refused by name") {
  const WishartSpectrum<double> none(0, 4), some(6, 4);
  const TaskVariances<double> task{0.1, 0.25};
  CHECK(refuses<std::invalid_argument>([&] { optimal_layers(some, task, 65); }, {"layers", "65"}));
  CHECK(refuses<std::invalid_argument>([&] { looped_layers(some, task, -1); }, {"layers", "-1"}));
  CHECK(refuses<std::invalid_argument>([&] { optimal_layers(none, task, 2); }, {"examples"}));
  CHECK(refuses<std::domain_error>([&] { optimal_layers<double>(some, {0.1, 0}, 2); }, {"task_variance"}));
  CHECK(refuses<std::domain_error>([&] { descent_risk<double>(some, task, {0.1, NAN}); }, {"learning_rates[1]"}));
  CHECK(refuses<std::domain_error>([&] { layers_needed(some, task, 0.0); }, {"share"}));
}

}  // namespace incontext::testing
