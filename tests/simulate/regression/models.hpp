#pragma once

#include <cstdint>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"

/// The task laws and attentions with which the simulators are tested.
namespace incontext::testing {

/// Nothing is isotropic, centered or symmetric.
inline regression::LinearTask<double> general_task() {
  regression::LinearTask<double>::Parameters law;
  law.input_mean = regression::Vector<double>{{0.5, -0.25, 1.0}};
  law.input_covariance = regression::Matrix<double>{{1.25, 0.5, 0.0}, {0.5, 1.0, 0.25}, {0.0, 0.25, 0.75}};
  law.task_mean = regression::Vector<double>{{0.25, 0.0, -0.5}};
  law.task_covariance = regression::Matrix<double>{{0.5, 0.125, 0.0}, {0.125, 0.25, 0.0}, {0.0, 0.0, 1.0}};
  law.noise_variance = 0.3;
  return regression::LinearTask<double>(law);
}

inline regression::Attention<double> general_attention() {
  return {regression::Matrix<double>{{1.0, 0.1, 0.0}, {-0.2, 0.9, 0.3}, {0.0, 0.1, 1.1}},
          regression::Vector<double>{{0.1, 0.2, -0.1}}, 0.8};
}

inline regression::LinearTask<double> isotropic_task(std::int64_t dimension) {
  return regression::LinearTask<double>::isotropic(
      {.dimension = dimension, .input_variance = 1.5, .task_variance = 0.25, .noise_variance = 0.1});
}

inline regression::Attention<double> plain_attention(std::int64_t dimension) {
  return {regression::Matrix<double>::Identity(dimension, dimension), regression::Vector<double>::Zero(dimension), 1.0};
}

}  // namespace incontext::testing
