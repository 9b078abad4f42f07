#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/contracts.hpp"
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
/// Domain    as SphereTask; 0 <= kappas <= 1e9, n A_d(kappa) e^(-kappa) at least T's smallest normal number.
/// Errors    std::invalid_argument for task, options or no kappa, std::domain_error for a kappa outside its domain.
/// Accuracy  standard error in the result, with a bound on its rounding; not to be trusted where rare contexts dominate
///           the mean, which happens for narrow kernels in low dimension, and for 1/Z~ there.
///           tests/simulate/classification/partition_function.cpp.
/// Random    as SphereTaskDraw; bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
PartitionFunctionSimulation partition_function(const SphereTask& task, const std::vector<double>& kappas,
                                               const Options& options);

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
/// Domain    as partition_function; options.trials >= 1.
/// Errors    as partition_function.
/// Random    as partition_function: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
PartitionFunctionSample partition_function_sample(const SphereTask& task, const std::vector<double>& kappas,
                                                  const Options& options);

// Checks of the kernels of a run, and the run of their trial on one system.
namespace detail {

/// Accepts a kernel whose reference, the mean for independent points, is a normal number of T. With a smaller one the
/// quotients would be zeros over zeros.
template <class T>
KernelReference<T> reference_of(std::string_view where, const SphereTask& task, double kappa) {
  require_non_negative(where, "kappa", kappa);
  if (kappa > 1e9) {
    throw_domain_error(where, "kappa is too large: the mean partition function is lost to rounding", kappa,
                       "at most 1e9");
  }
  const double kernel_mean = std::exp(classification::log_kernel_mean(task.dimension, kappa) - kappa);
  const double mean = static_cast<double>(task.context_length) * kernel_mean;
  if (!(mean >= static_cast<double>((std::numeric_limits<T>::min)()))) {
    throw_domain_error(where, "kappa is too large: the mean partition function underflows", kappa,
                       "n A_d e^-kappa >= 2^" + std::to_string(std::numeric_limits<T>::min_exponent - 1));
  }
  return {static_cast<T>(kappa), static_cast<T>(mean)};
}

template <class T, class Visit>
auto with_partition_function_trial(std::string_view where, Device device, const SphereTask& task,
                                   const std::vector<double>& kappas, Visit visit) {
  validate(task, where);
  require_at_least(where, "kappas.size()", kappas.size(), std::size_t{1});
  std::vector<KernelReference<T>> kernels;
  for (const double kappa : kappas) kernels.push_back(reference_of<T>(where, task, kappa));
  return with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<KernelReference<T>> list(kernels.begin(), kernels.end());
    const PartitionFunctionTrial<T> trial{draw_of<T>(task), address(list), static_cast<int>(kernels.size())};
    return visit(system, trial);
  });
}

}  // namespace detail

template <class T>
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

template <class T>
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
