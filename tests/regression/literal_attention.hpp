#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

/// Attention run as arXiv 2511.01292 eq. (5) defines it, on drawn contexts, to test the exact errors. It shares no
/// algebra with them.
namespace incontext::testing {

enum class Weights { approximate_softmax, linear };

/// Last row, last column of E + V E a(E^T K^T Q E / temperature), tokens in columns, the query last with label 0.
inline double literal_prediction(const Eigen::MatrixXd& tokens, const Eigen::MatrixXd& merged_key_query,
                                 const Eigen::MatrixXd& value, double temperature, Weights weights,
                                 regression::QueryToken query) {
  const Eigen::Index last = tokens.cols() - 1;
  const Eigen::Index attended = query == regression::QueryToken::included ? last + 1 : last;
  const Eigen::MatrixXd keys = tokens.leftCols(attended);
  const Eigen::VectorXd scores = keys.transpose() * (merged_key_query * tokens.col(last)) / temperature;
  Eigen::VectorXd attention = scores;
  if (weights == Weights::approximate_softmax) attention.array() += 1.0 - scores.mean();
  attention /= static_cast<double>(attended);
  const Eigen::VectorXd output = tokens.col(last) + value * (keys * attention);
  return output(output.size() - 1);
}

inline Eigen::VectorXd standard_normals(Eigen::Index size, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  return Eigen::VectorXd::NullaryExpr(size, [&] { return normal(engine); });
}

struct LiteralRun {
  Weights weights = Weights::approximate_softmax;
  regression::QueryToken query = regression::QueryToken::excluded;
  std::int64_t trials = 20000;
  std::uint64_t seed = 1;
};

/// The squared errors at several temperatures, on the same draws.
inline std::vector<SampleMean> literal_errors(const regression::Attention<double>& attention,
                                              const regression::LinearTask<double>& task, Eigen::Index context_length,
                                              std::span<const double> temperatures, LiteralRun run = {}) {
  const Eigen::Index d = task.dimension();
  Eigen::MatrixXd merged = Eigen::MatrixXd::Zero(d + 1, d + 1);
  merged.topLeftCorner(d, d) = attention.key_query;
  Eigen::MatrixXd value = Eigen::MatrixXd::Zero(d + 1, d + 1);
  value.row(d) << attention.input_value.transpose(), attention.label_value;
  const Eigen::MatrixXd input_root = task.input_covariance().llt().matrixL();
  const Eigen::MatrixXd task_root = task.task_covariance().llt().matrixL();
  const double noise = std::sqrt(task.noise_variance());

  std::mt19937_64 engine(run.seed);
  std::normal_distribution<double> normal;
  std::vector<SampleMean> errors(temperatures.size());
  Eigen::MatrixXd tokens(d + 1, context_length + 1);
  for (std::int64_t trial = 0; trial < run.trials; ++trial) {
    const Eigen::VectorXd w = task.task_mean() + task_root * standard_normals(d, engine);
    for (Eigen::Index i = 0; i <= context_length; ++i) {
      tokens.col(i).head(d) = task.input_mean() + input_root * standard_normals(d, engine);
      tokens(d, i) = w.dot(tokens.col(i).head(d)) + noise * normal(engine);
    }
    const double label = tokens(d, context_length);
    tokens(d, context_length) = 0.0;
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const double guess = literal_prediction(tokens, merged, value, temperatures[t], run.weights, run.query);
      errors[t].add((label - guess) * (label - guess));
    }
  }
  return errors;
}

/// The worst |z| of the errors measured at some temperatures against a theory of them.
inline Worst largest_z(const std::vector<SampleMean>& measured, std::span<const double> at,
                       const regression::InverseTemperatureParabola<double>& theory) {
  Worst worst;
  for (std::size_t i = 0; i < at.size(); ++i) {
    worst.add(std::abs(measured[i].z(theory(at[i]))), "temperature ", at[i], ", theory ", theory(at[i]));
  }
  return worst;
}

/// The attention with values multiplied by t and scores by 1/t; its limit t -> 0 is what the library calls the offset
/// removed.
inline regression::Attention<double> value_scaled(regression::Attention<double> attention, double t) {
  attention.key_query /= t;
  attention.input_value *= t;
  attention.label_value *= t;
  return attention;
}

}  // namespace incontext::testing
