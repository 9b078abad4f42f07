#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/adaptive_onset_trial.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"

/// Whether the first step from the linear rule toward a kernel helps: derivatives of the loss, simulated.
namespace incontext::simulate {

/// The linear rule's loss at several learning rates, and its derivatives by the rate's logarithm and by the adaptive
/// rule's kappa at kappa = 0, on common contexts. Where the last is negative at the best rate, attending to near points
/// helps; where it is positive, attending to far ones does.
///
///     const auto run = simulate::adaptive_onset({10, 5, 300}, {120.0, 145.0}, {.seed = 1, .trials = 4096});
///
/// The slope by kappa depends on the rate to first order, and the best rate is known only so well. With `tilt` times
/// the slope by the rate taken off it, which is 0 on average at the best rate, it does not, if tilt is the quotient of
/// the derivatives of both by the rate; and its variance is less.
///
/// Source    AdaptiveOnsetTrial.
/// Shapes    (rates: m) -> m points.
/// Units     nats.
/// Domain    as SphereTask; finite rates > 0.
/// Errors    std::invalid_argument, std::domain_error.
/// Accuracy  standard error in the result; rounding of 1024 eps of a value's root mean square, and of the logits:
///           tests/simulate/classification/adaptive_onset.cpp.
/// Random    as SphereTaskDraw: the same contexts as classification().
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
AdaptiveOnsetSimulation adaptive_onset(const SphereTask& task, const std::vector<double>& rates, const Options& options,
                                       double tilt = 0) {
  constexpr auto where = "simulate::adaptive_onset";
  validate(options);
  validate(task, where);
  require_finite(where, "tilt", tilt);
  require_at_least(where, "rates.size()", rates.size(), std::size_t{1});
  std::vector<T> numbers;
  for (const double rate : rates) {
    require_positive(where, "a rate", rate);
    numbers.push_back(static_cast<T>(rate));
    detail::require_holds<T>(where, "a rate", rate, rate);
  }
  const Device device = resolve(options.device, options.gpu);
  auto simulation = detail::with_system(device, [&](auto system) -> AdaptiveOnsetSimulation {
    using System = decltype(system);
    const typename System::template Memory<T> list(numbers.begin(), numbers.end());
    const AdaptiveOnsetTrial<T> trial{detail::draw_of<T>(task), detail::address(list), static_cast<int>(numbers.size()),
                                      static_cast<T>(tilt)};
    return {run_on<System>(device, trial, options)};
  });
  for (std::size_t i = 0; i < simulation.run.estimates.size(); ++i) {
    simulation.run.estimates[i].rounding +=
        (1 + std::abs(tilt)) * rates[i / detail::adaptive_onset_metrics] * 8 * detail::eps_of<T>;
  }
  return simulation;
}

}  // namespace incontext::simulate
