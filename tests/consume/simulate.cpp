// The first program of README.md, word for word: a closed form, the simulation that tests it, and the verdict.
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/statistics/agreement.hpp>

namespace ic = incontext;

int main() {
  const auto pretraining =
      ic::regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto shifted = pretraining.with_input_covariance_scaled(2.0);
  const auto attention = ic::regression::pretrained_attention(pretraining, /*context_length=*/40);

  const auto error = ic::regression::generalization_error(attention, shifted, 40);  // a parabola in 1/temperature
  const double best = error.optimal_temperature();                                  // closed form, exact at l = 40
  const auto trial = ic::simulate::regression_error(attention, shifted, 40, ic::scoring::ApproximateSoftmax{best},
                                                    {.seed = 1, .relative_error = 1e-3});
  const auto verdict = ic::statistics::agree(error(best), trial);

  std::printf("optimal temperature %.6f, error %.6f there, %.6f at temperature 1\n", best, error(best), error(1.0));
  std::printf("simulated %.6f +- %.6f over %lld trials, z = %.2f\n", trial.mean, trial.standard_error,
              static_cast<long long>(trial.count), verdict.z);
  return verdict.within(5) ? 0 : 1;
}
