#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <random>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/scoring/row.hpp"
#include "regression/literal_attention.hpp"

namespace incontext::testing {

/// Attention with any scoring map on drawn contexts: tokens with a mean, values of inputs and of labels. With the query
/// included it attends to itself too, and its own label is 0.
struct LiteralAttention {
  regression::Attention<double> attention;
  regression::LinearTask<double> task;
  regression::QueryToken query = regression::QueryToken::excluded;

  template <class Map>
  SampleMean error(const Map& map, std::int64_t context_length, std::int64_t trials, std::uint64_t seed) const {
    using scoring::weights;  // also for a map of a room of its own
    const Eigen::Index d = task.dimension();
    const Eigen::Index keys = context_length + (query == regression::QueryToken::included ? 1 : 0);
    const Eigen::MatrixXd input_root = task.input_covariance().llt().matrixL();
    const Eigen::MatrixXd task_root = task.task_covariance().llt().matrixL();
    const double noise = std::sqrt(task.noise_variance());
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    SampleMean result;
    Eigen::VectorXd scores(keys), weight(keys), values(keys);
    for (std::int64_t trial = 0; trial < trials; ++trial) {
      const Eigen::VectorXd w = task.task_mean() + task_root * standard_normals(d, engine);
      const Eigen::VectorXd own = task.input_mean() + input_root * standard_normals(d, engine);
      const Eigen::VectorXd read = attention.key_query * own;
      for (Eigen::Index j = 0; j < keys; ++j) {
        const bool is_query = j == context_length;
        const Eigen::VectorXd x = is_query ? own : task.input_mean() + input_root * standard_normals(d, engine);
        const double label = is_query ? 0 : w.dot(x) + noise * normal(engine);
        scores(j) = x.dot(read);
        values(j) = attention.input_value.dot(x) + attention.label_value * label;
      }
      weights(map, scores, weight);
      const double missed = w.dot(own) + noise * normal(engine) - weight.dot(values);
      result.add(missed * missed);
    }
    return result;
  }
};

}  // namespace incontext::testing
