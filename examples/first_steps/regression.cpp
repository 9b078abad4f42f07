// Shown by docs/first_steps.md: the temperature that serves a shifted law best, and what it saves.
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>

namespace regression = incontext::regression;

int main() {
  const auto pretraining =
      regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto attention = regression::pretrained_attention(pretraining, 40);
  std::printf("inputs' variance  best temperature  error there  error at 1\n");
  for (const double factor : {0.5, 1.0, 2.0, 4.0}) {
    const auto shifted = pretraining.with_input_covariance_scaled(factor);
    const auto error = regression::generalization_error(attention, shifted, 40);  // a parabola in 1/temperature
    const double best = error.optimal_temperature();
    std::printf("%16.1f  %16.4f  %11.4f  %10.4f\n", factor, best, error(best), error(1.0));
  }
  return 0;
}
