// Theory and simulation from the installed package: they agree, and the simulation is the same number on every device.
#include <cmath>
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/scoring/approximate_softmax.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/statistics/agreement.hpp>

#if !INCONTEXT_SIMULATE_OMP || !INCONTEXT_SIMULATE_TBB
#error the simulate targets define what they link
#endif

namespace ic = incontext;

int main() {
  const auto task =
      ic::regression::LinearTask<double>::isotropic({.dimension = 4, .task_variance = 0.25, .noise_variance = 0.1});
  const auto attention = ic::regression::pretrained_attention(task, 10);
  const auto error = ic::regression::generalization_error(attention, task, 10);
  const double best = error.optimal_temperature();

  const auto simulated = [&](ic::simulate::Device device) {
    return ic::simulate::regression_error(attention, task, 10, ic::scoring::ApproximateSoftmax<double>{best},
                                          {.seed = 7, .trials = 100000, .device = device});
  };
  const auto trial = simulated(ic::simulate::Device::serial);
  const double z = ic::statistics::agree(error(best), trial).z;
  std::printf("theory %.6f, simulation %.6f +- %.6f, z = %.2f\n", error(best), trial.mean, trial.standard_error, z);

  const bool same = simulated(ic::simulate::Device::openmp).mean == trial.mean &&
                    simulated(ic::simulate::Device::tbb).mean == trial.mean;
  return std::abs(z) <= 5 && same ? 0 : 1;
}
