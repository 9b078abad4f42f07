// The smallest use of the library: the optimal temperature after the inputs' covariance has doubled.
#include <cmath>
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>

namespace regression = incontext::regression;

int main() {
  const auto pretraining =
      regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto attention = regression::pretrained_attention(pretraining, 40);
  const auto shifted = pretraining.with_input_covariance_scaled(2.0);
  const double best = regression::generalization_error(attention, shifted, 40).optimal_temperature();
  // isotropic, with a = 2 the input variance, b the task's: pretraining gives M = I / (1 + s^2 / (b l)) = I / 1.05, and
  // the optimum is a + (d a + s^2 / b) / l = 2 + (40 + 2) / 40 = 3.05 times that
  const double expected = 3.05 / 1.05;
  std::printf("optimal temperature %.17g, by hand %.17g\n", best, expected);
  return std::abs(best - expected) <= 1e-12 ? 0 : 1;
}
