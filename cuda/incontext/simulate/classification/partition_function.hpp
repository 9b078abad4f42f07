#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/classification/partition_function.hpp"
#include "incontext/simulate/classification/partition_function_run.hpp"
#include "incontext/simulate/classification/partition_function_trial.hpp"
#include "incontext/simulate/classification/partition_function_types.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/statistics/estimate.hpp"

/// The partition function around a query and how classes share a context, simulated.
namespace incontext::simulate {

/// The partition function around queries for several kernels, and the shares of the classes, on common contexts.
///
///     const simulate::SphereTask task{.dimension = 3, .classes = 2, .context_length = 30};
///     const auto run = simulate::partition_function(task, /*kappas=*/{1.0, 4.0}, {.seed = 1, .trials = 65536});
///
/// Source    PartitionFunctionTrial.
/// Shapes    (kappas: m) -> m kernels.
/// Units     dimensionless.
/// Domain    as SphereTask; 0 <= kappas <= 1e9, n A_d(kappa) e^(-kappa) at least T's smallest normal number.
/// Errors    std::invalid_argument for task, options or no kappa, std::domain_error for a kappa outside its domain.
/// Accuracy  standard error in the result, with a bound on its rounding; not to be trusted where rare contexts dominate
///           the mean, which happens for narrow kernels in low dimension, and for 1/Z~ there.
///           tests/simulate/classification/partition_function.cpp.
/// Random    as SphereTaskDraw; bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
PartitionFunctionSimulation partition_function(const SphereTask& task, const std::vector<double>& kappas,
                                               const Options& options) {
  validate(options);
  const Device device = resolve(options.device, options.gpu);
  PartitionFunctionSimulation result;
  result.run =
      detail::with_partition_function_trial<T>("simulate::partition_function", device, task, kappas,
                                               [&](auto system, const PartitionFunctionTrial<T>& trial) -> Simulation {
                                                 return run_on<decltype(system)>(device, trial, options);
                                               });
  result.kernels = kappas.size();
  for (std::size_t i = 0; i < result.run.estimates.size(); ++i) {
    const std::size_t kernel = i / detail::partition_function_metrics;
    statistics::Estimate& estimate = result.run.estimates[i];
    if (kernel >= result.kernels || estimate.count == 0) continue;
    // The exponents kappa (x_j . x - 1) and the weights have errors of kappa eps; a squared deviation has the sum's
    // error.
    const double amplitude = (64 + 4 * kappas[kernel]) * detail::eps_of<T>;
    const bool is_square =
        i % detail::partition_function_metrics == static_cast<std::size_t>(PartitionFunctionMetric::squared_deviation);
    estimate.rounding +=
        is_square ? detail::rounding_of_square(estimate.mean, amplitude) : amplitude * std::abs(estimate.mean);
  }
  for (const double kappa : kappas) {
    const double excess = classification::partition_function_excess(task.dimension, kappa);
    result.independent_variance.push_back(excess / static_cast<double>(task.context_length));
  }
  return result;
}

/// The partition functions of every trial, for medians: the mean of 1/Z~ is often dominated by a few contexts without
/// points near the query.
struct PartitionFunctionSample {
  Sample sample;

  [[nodiscard]] double median(std::size_t kernel, PartitionFunctionMetric metric) const {
    return sample.median(kernel * detail::partition_function_metrics + static_cast<std::size_t>(metric));
  }
};

/// The first `options.trials` trials of partition_function, each kept.
///
/// Source    as partition_function.
/// Shapes    as Sample.
/// Units     as partition_function.
/// Domain    as partition_function; options.trials >= 1.
/// Errors    as partition_function.
/// Random    as partition_function: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
PartitionFunctionSample partition_function_sample(const SphereTask& task, const std::vector<double>& kappas,
                                                  const Options& options) {
  validate(options);
  return detail::with_partition_function_trial<T>(
      "simulate::partition_function_sample", resolve(options.device, options.gpu), task, kappas,
      [&](auto system, const PartitionFunctionTrial<T>& trial) -> PartitionFunctionSample {
        return {sample_on<decltype(system)>(trial, options)};
      });
}

}  // namespace incontext::simulate
