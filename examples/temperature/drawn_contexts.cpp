#include "examples/temperature/drawn_contexts.hpp"

#include <incontext/regression/centered_ridge.hpp>
#include <incontext/regression/posterior.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace incontext::examples::temperature {

namespace {

/// As many contexts as take about a second.
std::int64_t contexts_of(Eigen::Index dimension, std::int64_t context_length) {
  constexpr double operations = 1e9;
  const auto d = static_cast<double>(dimension);
  return static_cast<std::int64_t>(
      std::clamp(operations / (static_cast<double>(context_length) * d * d), 16.0, 16384.0));
}

}  // namespace

DrawnContexts drawn_contexts(Run& run, const LinearTask& task, std::int64_t context_length) {
  const auto d = task.dimension();
  const std::int64_t contexts = contexts_of(d, context_length);
  const Matrix input_root = task.input_covariance().llt().matrixL(), task_root = task.task_covariance().llt().matrixL();
  const Matrix second = task.input_covariance() + task.input_mean() * task.input_mean().transpose();
  std::mt19937_64 draw(run.simulator.seed());
  std::normal_distribution<double> normal;
  const auto standard = [&](Eigen::Index rows, Eigen::Index columns) {
    return Matrix(Matrix::NullaryExpr(rows, columns, [&] { return normal(draw); }));
  };
  const Matrix tasks = task.task_second_moment();
  std::vector<double> errors, least_errors, second_moments;
  for (std::int64_t i = 0; i < contexts && !run.simulator.stopped(); ++i) {
    const Vector w = task.task_mean() + task_root * standard(d, 1);
    Matrix inputs = standard(context_length, d) * input_root.transpose();
    inputs.rowwise() += task.input_mean().transpose();
    const Vector labels = inputs * w + std::sqrt(task.noise_variance()) * standard(context_length, 1);
    const auto error_of = [&](const auto& posterior_of) {
      const Vector missed =
          w - posterior_of(inputs, labels, task.task_mean(), task.task_covariance(), task.noise_variance()).mean;
      return task.noise_variance() + missed.dot(second * missed);
    };
    errors.push_back(error_of(regression::centered_ridge<double>));
    least_errors.push_back(error_of(regression::posterior<double>));
    const Matrix centered = inputs.rowwise() - inputs.colwise().mean();
    const Matrix covariance = centered.transpose() * centered / static_cast<double>(context_length);
    second_moments.push_back((covariance * tasks * covariance).trace());
  }
  const auto drawn = static_cast<std::int64_t>(errors.size());
  run.simulator.count(drawn, contexts);
  const auto mean_of = [drawn](const std::vector<double>& values) {
    return statistics::Estimate(statistics::moments_of(values.data(), drawn));
  };
  return {mean_of(errors), mean_of(least_errors), mean_of(second_moments)};
}

DrawnScores drawn_scores(Run& run, const Situation& at, std::uint64_t stream) {
  const auto d = at.task.dimension();
  const std::int64_t queries =
      std::max<std::int64_t>(contexts_of(d, at.context_length) / 4, 16);  // there are many rows
  const Matrix root = at.task.input_covariance().llt().matrixL();
  std::mt19937_64 draw(run.simulator.seed() + stream * 0x9E3779B97F4A7C15ULL);
  std::normal_distribution<double> normal;
  const auto inputs = [&](Eigen::Index count) {
    return Matrix(Matrix::NullaryExpr(count, d, [&] { return normal(draw); }) * root.transpose());
  };
  DrawnScores drawn;
  for (std::int64_t i = 0; i < queries && !run.simulator.stopped(); ++i) {
    const Vector query = inputs(1).transpose();
    const Vector direction = at.attention.key_query * query;
    const Vector scores = inputs(at.context_length) * direction;
    drawn.mean_squares.push_back(scores.squaredNorm() / static_cast<double>(at.context_length));
    drawn.self_scores.push_back(query.dot(direction));
  }
  run.simulator.count(static_cast<std::int64_t>(drawn.self_scores.size()), queries);
  return drawn;
}

}  // namespace incontext::examples::temperature
