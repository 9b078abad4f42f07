#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/baselines/baseline_trial.hpp"
#include "incontext/simulate/baselines/baseline_types.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"

namespace incontext::simulate {

/// The mean errors of gradient descent and ridge regression on the examples of a context, by running them on contexts
/// that are drawn: the referee of baselines::descent_risk and baselines::ridge_risk.
///
///     const simulate::BaselineSetting setting{
///         .dimension = 20, .examples = 40, .task = {.noise_variance = 0.1, .task_variance = 0.05}, .penalties = {2}};
///     const auto run = simulate::baseline_errors(setting, {.seed = 1, .trials = 65536});
///
/// Source    BaselineTrial.
/// Shapes    one estimate per descent, then one per penalty.
/// Units     label units squared.
/// Domain    dimension and examples >= 1; penalties > 0, or 0 for examples >= dimension + 4, where the variance of
///           least squares' error exists.
/// Errors    std::invalid_argument for sizes, options or nothing to simulate; std::domain_error for variances,
///           learning rates and penalties.
/// Accuracy  standard error in the result, and a bound on its rounding: tests/simulate/baselines/baseline_errors.cpp.
/// Random    as BaselineTrial: bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
inline Simulation baseline_errors(const BaselineSetting& setting, const Options& options) {
  constexpr auto where = "simulate::baseline_errors";
  validate(options);
  const std::int64_t d = setting.dimension, l = setting.examples;
  require_at_least(where, "dimension", d, std::int64_t{1});
  require_at_least(where, "examples", l, std::int64_t{1});
  baselines::require_task_variances(where, setting.task);
  require_at_least(where, "descents.size() + penalties.size()", setting.descents.size() + setting.penalties.size(),
                   std::size_t{1});
  // Blocks of a stream are counted in 32 bits, and a trial's entries in an int.
  if (d > 40000 || l > 4'000'000'000 / d) {
    throw_invalid_argument(where, "examples are too many for the dimension", l,
                           "dimension <= 40000 and examples x dimension <= 4e9");
  }
  std::vector<std::int64_t> starts = {0};
  std::vector<double> rates;
  std::size_t most_layers = 0;
  for (std::size_t k = 0; k < setting.descents.size(); ++k) {
    for (std::size_t i = 0; i < setting.descents[k].size(); ++i) {
      require_finite(where, "descents[" + std::to_string(k) + "][" + std::to_string(i) + "]", setting.descents[k][i]);
      rates.push_back(setting.descents[k][i]);
    }
    most_layers = (std::max)(most_layers, setting.descents[k].size());
    starts.push_back(static_cast<std::int64_t>(rates.size()));
  }
  for (std::size_t k = 0; k < setting.penalties.size(); ++k) {
    const std::string name = "penalties[" + std::to_string(k) + "]";
    require_non_negative(where, name, setting.penalties[k]);
    if (!(setting.penalties[k] > 0) && l < d + 4) {
      throw_domain_error(where, name + " is 0 and examples < dimension + 4", setting.penalties[k],
                         "a positive penalty");
    }
  }

  const Device device = resolve(options.device, options.gpu);
  Simulation simulation = detail::with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<std::int64_t> start_memory(starts.begin(), starts.end());
    const typename System::template Memory<double> rate_memory(rates.begin(), rates.end());
    const typename System::template Memory<double> penalty_memory(setting.penalties.begin(), setting.penalties.end());
    const DescentRates descents{static_cast<int>(setting.descents.size()), detail::address(start_memory),
                                detail::address(rate_memory)};
    const BaselineTrial trial{static_cast<int>(d),
                              l,
                              std::sqrt(setting.task.task_variance),
                              std::sqrt(setting.task.noise_variance),
                              descents,
                              static_cast<int>(setting.penalties.size()),
                              detail::address(penalty_memory)};
    return run_on<System>(device, trial, options);
  });
  // Sums over examples and dimensions are not compensated; a factorization loses the condition number's digits.
  const double scale = static_cast<double>(l) + static_cast<double>(d);
  for (std::size_t k = 0; k < simulation.estimates.size(); ++k) {
    statistics::Estimate& estimate = simulation.estimates[k];
    if (estimate.count == 0) continue;
    double digits = scale * static_cast<double>(most_layers + 1);
    if (k >= setting.descents.size()) {
      const double penalty = setting.penalties[k - setting.descents.size()];
      const double apart = std::sqrt(static_cast<double>(l)) - std::sqrt(static_cast<double>(d));
      const double least = (std::max)(penalty, l > d + 3 ? apart * apart / 4 : 0.0);
      digits += scale * static_cast<double>(l) / least;
    }
    estimate.rounding += digits * detail::eps_of<double> * estimate.mean;
  }
  return simulation;
}

}  // namespace incontext::simulate
