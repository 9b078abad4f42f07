#include "incontext/baselines/correlated_context.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include "incontext/baselines/descent_layers.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace baselines;

namespace {

Eigen::MatrixXd exponential(Eigen::Index examples, double neighbor) {
  return Eigen::MatrixXd::NullaryExpr(examples, examples, [&](Eigen::Index i, Eigen::Index j) {
    return std::pow(neighbor, std::abs(static_cast<double>(i - j)));
  });
}

/// The squared error of one layer on one drawn context, in the mean over its query: x_q (w - gain X^T y / l) has the
/// variance |w - gain X^T y / l|^2.
double drawn_error(const Eigen::MatrixXd& factor, std::int64_t dimension, const TaskVariances<double>& task,
                   double gain, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  const auto draw = [&](Eigen::Index rows, Eigen::Index columns) {
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); })
        .eval();
  };
  const Eigen::MatrixXd x = factor * draw(factor.rows(), dimension);
  const Eigen::VectorXd w = std::sqrt(task.task_variance) * draw(dimension, 1);
  const Eigen::VectorXd labels = x * w + std::sqrt(task.noise_variance) * draw(factor.rows(), 1);
  const Eigen::VectorXd learned = gain / static_cast<double>(factor.rows()) * (x.transpose() * labels);
  return task.noise_variance + (w - learned).squaredNorm();
}

}  // namespace

TEST_CASE("one layer on drawn correlated contexts has this error, and not that of one effective length",
          "[statistics]") {
  const TaskVariances<double> task{.noise_variance = 0.1, .task_variance = 1.0 / 6};
  constexpr std::int64_t examples = 12, dimension = 6;
  // an exponential matrix and one of two blocks, whose correlations are not of one sign; 4 comparisons at |z| <= 5
  Eigen::MatrixXd blocks = Eigen::MatrixXd::Identity(examples, examples);
  for (int i = 0; i < examples; ++i) {
    for (int j = 0; j < examples; ++j) {
      if (i != j) blocks(i, j) = i / 6 == j / 6 ? 0.6 : -0.4;
    }
  }
  for (const Eigen::MatrixXd& correlations : {exponential(examples, std::exp(-1.0 / 3)), blocks}) {
    const Eigen::MatrixXd factor = correlations.llt().matrixL();
    const double mean_square = squared_correlation(correlations);
    const auto best = optimal_correlated_layer(examples, dimension, mean_square, task);
    for (const double gain : {best.gain, 0.6}) {
      std::mt19937_64 engine(88);
      SampleMean error;
      for (int trial = 0; trial < 250'000; ++trial) error.add(drawn_error(factor, dimension, task, gain, engine));
      CAPTURE(mean_square, gain, error.mean(), error.standard_error());
      CHECK(std::abs(error.z(correlated_layer_risk(examples, dimension, mean_square, task, gain))) <= 5);
      // near misses: independent examples, l of them or as many as the signal sees
      CHECK_FALSE(std::abs(error.z(correlated_layer_risk(examples, dimension, 1.0 / examples, task, gain))) <= 5);
      const double d = dimension, wrong = mean_square * ((d + 1) * task.task_variance + task.noise_variance);
      const double one_length =
          task.noise_variance + d * (task.task_variance * (1 - gain) * (1 - gain) + gain * gain * wrong);
      CHECK_FALSE(std::abs(error.z(one_length)) <= 5);
    }
  }
}

TEST_CASE("independent examples are one layer of gradient descent, by the spectrum", "[baselines]") {
  const TaskVariances<double> task{.noise_variance = 0.3, .task_variance = 0.2};
  for (const auto& [examples, dimension] : {std::pair{3, 5}, std::pair{8, 8}, std::pair{40, 20}}) {
    const WishartSpectrum<double> spectrum(examples, dimension);
    for (const double gain : {0.1, 0.7, 1.3}) {
      const double risk = correlated_layer_risk(examples, dimension, 1.0 / examples, task, gain);
      CHECK(relative(risk, descent_risk(spectrum, task, {gain})) < 1e-12);
      CHECK_FALSE(relative(correlated_layer_risk(examples, dimension, 1.01 / examples, task, gain), risk) < 1e-5);
    }
    const auto best = optimal_correlated_layer(examples, dimension, 1.0 / examples, task);
    const auto layer = optimal_layers(spectrum, task, 1);
    CHECK(relative(best.gain, layer.learning_rates.front()) < 1e-12);
    CHECK(relative(best.risk, layer.risk) < 1e-12);
  }
}

TEST_CASE("the best gain is the best of the gains tried, and equal examples are one", "[baselines]") {
  const TaskVariances<double> task{.noise_variance = 0.3, .task_variance = 0.2};
  for (const double mean_square : {0.05, 0.3, 1.0}) {
    const auto best = optimal_correlated_layer(20, 7, mean_square, task);
    CHECK(relative(best.risk, correlated_layer_risk(20, 7, mean_square, task, best.gain)) < 1e-14);
    CHECK(best.risk < correlated_layer_risk(20, 7, mean_square, task, 0.95 * best.gain));
    CHECK(best.risk < correlated_layer_risk(20, 7, mean_square, task, 1.05 * best.gain));
  }
  // l copies of one input, whose labels' noise is averaged: one example of noise sigma^2 / l
  const double equal = correlated_layer_risk(20, 7, 1.0, task, 0.4);
  const TaskVariances<double> averaged{.noise_variance = 0.3 / 20, .task_variance = 0.2};
  CHECK(relative(equal - 0.3, correlated_layer_risk(1, 7, 1.0, averaged, 0.4) - 0.3 / 20) < 1e-14);
}

TEST_CASE("the squared correlation of an exponential matrix, summed and written out", "[baselines]") {
  for (const Eigen::Index examples : {1, 2, 13, 200}) {
    for (const double neighbor : {0.0, 0.5, -0.9, 0.9999, 1.0}) {
      CAPTURE(examples, neighbor);
      const double summed = exponential_squared_correlation<double>(examples, neighbor);
      CHECK(relative(summed, squared_correlation(exponential(examples, neighbor))) < 1e-13);
    }
  }
  CHECK(relative(exponential_squared_correlation(1'000'000, 0.5) * 1e6, 1.25 / 0.75) < 1e-5);
  CHECK(relative(exponential_squared_correlation(50, 0.7F), exponential_squared_correlation(50, 0.7)) < 1e-6);
  CHECK(relative(static_cast<double>(exponential_squared_correlation(5000, 0.99L)),
                 exponential_squared_correlation(5000, 0.99)) < 1e-13);
}

TEST_CASE("limits: no prior, no gain", "[baselines]") {
  const auto none = optimal_correlated_layer<double>(5, 3, 0.4, {0.2, 0.0});
  CHECK(none.gain == 0);
  CHECK(none.risk == 0.2);
  CHECK(relative(correlated_layer_risk<double>(5, 3, 0.4, {0.2, 0.5}, 0.0), 0.2 + 0.5 * 3) < 1e-15);
}

TEST_CASE("correlated contexts refuse bad matrices, sizes and values by name", "[baselines]") {
  const TaskVariances<double> task{.noise_variance = 0.3, .task_variance = 0.2};
  Eigen::MatrixXd matrix = exponential(3, 0.5);
  CHECK(refuses<std::invalid_argument>([] { squared_correlation(Eigen::MatrixXd(2, 3)); }, {"correlations", "3"}));
  CHECK(refuses<std::invalid_argument>([] { squared_correlation(Eigen::MatrixXd(0, 0)); }, {"correlations", "0"}));
  matrix(0, 2) = 0.9;
  CHECK(refuses<std::domain_error>([&] { squared_correlation(matrix); }, {"entry"}));
  matrix(2, 0) = 0.9;
  CHECK(squared_correlation(matrix) > 0);
  matrix(1, 1) = 2;
  CHECK(refuses<std::domain_error>([&] { squared_correlation(matrix); }, {"entry", "2"}));
  matrix(1, 1) = NAN;
  CHECK(refuses<std::domain_error>([&] { squared_correlation(matrix); }, {"entry", "nan"}));
  CHECK(refuses<std::domain_error>([] { exponential_squared_correlation(5, 1.5); }, {"neighbor_correlation", "1.5"}));
  CHECK(refuses<std::invalid_argument>([] { exponential_squared_correlation(0, 0.5); }, {"examples", "0"}));
  const auto risk = [&](std::int64_t l, std::int64_t d, double t, double gain) {
    return correlated_layer_risk(l, d, t, task, gain);
  };
  CHECK(refuses<std::invalid_argument>([&] { risk(0, 2, 0.5, 1); }, {"examples", "0"}));
  CHECK(refuses<std::invalid_argument>([&] { risk(5, 0, 0.5, 1); }, {"dimension", "0"}));
  CHECK(refuses<std::domain_error>([&] { risk(5, 2, 0.1, 1); }, {"squared_correlation", "0.1"}));
  CHECK(refuses<std::domain_error>([&] { risk(5, 2, 1.1, 1); }, {"squared_correlation", "1.1"}));
  CHECK(refuses<std::domain_error>([&] { risk(5, 2, 0.5, NAN); }, {"gain", "nan"}));
  CHECK(refuses<std::domain_error>([] { optimal_correlated_layer<double>(5, 2, 0.5, {-1, 1}); }, {"noise_variance"}));
}

}  // namespace incontext::testing
