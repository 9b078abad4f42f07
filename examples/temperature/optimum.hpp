#pragma once

#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/temperature/situation.hpp"

/// The optimal temperature, found by simulation alone.
namespace incontext::examples::temperature {

inline constexpr std::size_t optimum_batches = 64;

/// An optimal temperature found by simulation: an estimate over batches, and the trials they are made of.
struct SimulatedOptimum {
  statistics::Estimate temperature = {};
  std::int64_t trials = 0;
};

/// On common draws every trial's error is a parabola in x = 1 / temperature, and so is their mean. Its vertex follows
/// from the errors at x0 / 2, x0 and 3 x0 / 2, exactly for any x0, because differences of these give the slope and the
/// curvature. Rounding errors of the three numbers move the vertex in proportion.
inline statistics::Estimate vertex_temperature(const Estimates& errors, double center_temperature) {
  const double step = 0.5 / center_temperature;
  const double slope = (errors[2].mean - errors[0].mean) / (2 * step);
  const double curvature = (errors[2].mean - 2 * errors[1].mean + errors[0].mean) / (step * step);
  statistics::Estimate vertex;
  vertex.mean = 1 / (1 / center_temperature - slope / curvature);
  const double by_slope = 1 / (2 * step * curvature), by_curvature = slope / (curvature * curvature * step * step);
  vertex.rounding =
      vertex.mean * vertex.mean *
      (std::abs(by_slope - by_curvature) * errors[2].rounding + std::abs(2 * by_curvature) * errors[1].rounding +
       std::abs(by_slope + by_curvature) * errors[0].rounding);
  return vertex;
}

/// A ratio of means has a bias of order 1 / trials, and its standard error has no simple formula. The jackknife over
/// batches gives pseudo-values, whose mean is the estimate and whose standard deviation gives its error. After a stop
/// there may be too few batches for that.
inline statistics::Estimate jackknifed_vertex(const std::vector<Estimates>& batches, double center_temperature) {
  if (batches.size() < optimum_batches / 2) return {};
  const auto n = static_cast<double>(batches.size());
  Estimates total = batches.front();
  for (std::size_t i = 0; i < total.size(); ++i) {
    total[i].mean = total[i].rounding = 0;
    for (const Estimates& batch : batches) {
      total[i].mean += batch[i].mean / n;
      total[i].rounding += batch[i].rounding / n;
    }
  }
  const statistics::Estimate all = vertex_temperature(total, center_temperature);
  std::vector<double> pseudo_values;
  for (const Estimates& batch : batches) {
    Estimates others = total;
    for (std::size_t i = 0; i < others.size(); ++i) others[i].mean = (n * total[i].mean - batch[i].mean) / (n - 1);
    pseudo_values.push_back(n * all.mean - (n - 1) * vertex_temperature(others, center_temperature).mean);
  }
  statistics::Estimate estimate(
      statistics::moments_of(pseudo_values.data(), static_cast<std::int64_t>(pseudo_values.size())));
  estimate.rounding = all.rounding;
  return estimate;
}

/// The simulated optimal temperature of approximate softmax; `theory` only determines where to search. With --relative-error,
/// a first set of batches determines the number of trials of the second.
inline SimulatedOptimum simulated_optimum(Run& run, const Situation& at, double theory) {
  const std::vector<double> grid{2 * theory, theory, theory / 1.5};
  const auto with = [&](std::int64_t trials) -> SimulatedOptimum {
    const auto batches = run.simulator.batches(optimum_batches, trials, at.attention, at.task, at.context_length, grid,
                                               run.options.reading);
    return {jackknifed_vertex(batches, theory), static_cast<std::int64_t>(batches.size()) * trials};
  };
  const double target = run.simulator.relative_error();
  if (!(target > 0))
    return with(std::max<std::int64_t>(run.simulator.trials() / static_cast<std::int64_t>(optimum_batches), 2));
  const std::int64_t pilot_trials = 1024;
  const SimulatedOptimum pilot = with(pilot_trials);
  const double needed = std::pow(pilot.temperature.relative_error() / target, 2);
  if (!(needed > 1)) return pilot;
  constexpr double most_trials = 1e15;
  const double trials = std::ceil(1.05 * needed * static_cast<double>(pilot_trials));
  if (!(trials * static_cast<double>(optimum_batches) <= most_trials)) {
    throw_input_error("--relative-error", "needs more than 1e15 trials for an optimal temperature", target,
                      "a larger value, or --trials");
  }
  return with(static_cast<std::int64_t>(trials));
}

}  // namespace incontext::examples::temperature
