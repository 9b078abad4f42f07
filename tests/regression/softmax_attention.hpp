#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <random>

#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/row.hpp"
#include "regression/literal_attention.hpp"

namespace incontext::testing {

/// Attention with any scoring map on drawn contexts of centered inputs; the query attends to the examples only.
struct LiteralAttention {
  Eigen::MatrixXd key_query;
  double label_value;
  regression::LinearTask<double> task;

  template <class Map>
  SampleMean error(const Map& map, std::int64_t context_length, std::int64_t trials, std::uint64_t seed) const {
    const Eigen::Index d = task.dimension();
    const Eigen::MatrixXd input_root = task.input_covariance().llt().matrixL();
    const Eigen::MatrixXd task_root = task.task_covariance().llt().matrixL();
    const double noise = std::sqrt(task.noise_variance());
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    SampleMean result;
    Eigen::VectorXd scores(context_length), weight(context_length), labels(context_length);
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const Eigen::VectorXd w = task.task_mean() + task_root * standard_normals(d, engine);
      const Eigen::VectorXd query = input_root * standard_normals(d, engine);
      const Eigen::VectorXd read = key_query * query;
      for (Eigen::Index j = 0; j < context_length; ++j) {
        const Eigen::VectorXd x = input_root * standard_normals(d, engine);
        scores(j) = x.dot(read);
        labels(j) = w.dot(x) + noise * normal(engine);
      }
      weights(map, scores, weight);
      const double missed = w.dot(query) + noise * normal(engine) - label_value * weight.dot(labels);
      result.add(missed * missed);
    }
    return result;
  }
};

}  // namespace incontext::testing
