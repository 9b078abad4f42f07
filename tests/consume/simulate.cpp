// The first program of README.md, word for word: a closed form, the simulation that tests it, and the verdict.
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/statistics/agreement.hpp>

int main() {
  using namespace incontext;
  const auto task =
      regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto shifted = task.with_input_covariance_scaled(2.0);
  const auto layer = regression::pretrained_attention(task, /*context_length=*/40);
  const auto error = regression::generalization_error(layer, shifted, 40);  // a parabola in 1/temperature
  const double best = error.optimal_temperature();                          // closed form, exact at l = 40
  const auto trial = simulate::regression_error(layer, shifted, 40, scoring::ApproximateSoftmax{best},
                                                {.seed = 1, .relative_error = 1e-3});
  const auto verdict = statistics::agree(error(best), trial);
  std::printf("theory %.6f, simulated %.6f +- %.6f in %lld trials, z = %.2f\n", error(best), trial.mean,
              trial.standard_error, static_cast<long long>(trial.count), verdict.z);
  return verdict.within(5) ? 0 : 1;
}
