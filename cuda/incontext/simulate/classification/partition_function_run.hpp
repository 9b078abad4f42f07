#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/kernel_mean.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/partition_function_trial.hpp"
#include "incontext/simulate/classification/partition_function_types.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"

/// Checks of the kernels of a run, and the run of their trial on one system.
namespace incontext::simulate::detail {

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
  if (!(mean >= static_cast<double>(std::numeric_limits<T>::min()))) {
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

}  // namespace incontext::simulate::detail
