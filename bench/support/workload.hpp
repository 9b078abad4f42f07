#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/inverse_temperature_parabola.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/pretrained_attention.hpp"

/// The workload that every benchmark and every peer runs: attention pretrained on an isotropic task, applied to inputs
/// of twice the variance, at temperatures around the best.
namespace incontext::bench {

struct Workload {
  regression::LinearTask<double> task;
  regression::Attention<double> attention;
  std::int64_t context_length;
  regression::InverseTemperatureParabola<double> error;  ///< the answer: exact error of approximate softmax
  std::vector<double> temperatures;                      ///< the optimal one among them

  /// The number of standard normals of a literal trial: task, query, query noise, inputs, noise.
  [[nodiscard]] double normals_per_trial() const {
    return static_cast<double>(task.dimension() * (context_length + 2) + context_length + 1);
  }
};

inline constexpr std::int64_t usual_dimension = 20;
inline constexpr std::int64_t usual_context_length = 100;
inline constexpr int usual_temperatures = 8;

/// Temperatures in steps of a factor of sqrt(2) about the optimal one; a grid of one has the optimal temperature alone.
inline std::vector<double> temperature_grid(double optimal, int points) {
  std::vector<double> temperatures;
  for (int i = 0; i < points; ++i) temperatures.push_back(optimal * std::pow(2.0, 0.5 * (i - (points - 1) / 2)));
  return temperatures;
}

inline Workload make_workload(std::int64_t dimension = usual_dimension,
                              std::int64_t context_length = usual_context_length, int points = usual_temperatures) {
  const auto pretraining = regression::LinearTask<double>::isotropic(
      {.dimension = dimension, .task_variance = 1.0 / static_cast<double>(dimension), .noise_variance = 0.1});
  const auto task = pretraining.with_input_covariance_scaled(2.0);
  const auto attention = regression::pretrained_attention(pretraining, context_length);
  const auto error = regression::generalization_error(attention, task, context_length);
  return {task, attention, context_length, error, temperature_grid(error.optimal_temperature(), points)};
}

}  // namespace incontext::bench
