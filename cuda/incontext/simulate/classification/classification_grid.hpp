#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_grid_run.hpp"
#include "incontext/simulate/classification/classification_grid_types.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/statistics/estimate.hpp"

/// Losses of one rule over a grid of kappas and gains, on common contexts, and the best point of it.
namespace incontext::simulate {

/// Numbers from low to high, evenly spaced in their logarithms.
///
/// Shapes    count numbers, the ends exact.
/// Domain    0 < low < high, count >= 2.
/// Errors    std::domain_error for low or high, std::invalid_argument for count outside the domain.
inline std::vector<double> log_grid(double low, double high, std::int64_t count) {
  constexpr auto where = "simulate::log_grid";
  require_positive(where, "low", low);
  require_positive(where, "high", high);
  require_at_least(where, "count", count, std::int64_t{2});
  if (!(low < high)) throw_domain_error(where, "high is not above low", high, "more than low");
  std::vector<double> grid;
  for (std::int64_t i = 0; i < count; ++i) {
    grid.push_back(low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  grid.back() = high;
  return grid;
}

/// Mean losses of one rule over a grid, on common contexts. With a reference, also the difference of every loss from
/// that of the reference.
///
///     const simulate::ClassificationGrid grid{simulate::ClassificationRule::adaptive, {0, 2, 10}, {3, 11}};
///     const auto run = simulate::classification_grid({3, 3, 30}, grid, {.seed = 1, .trials = 65536});
///
/// Source    ClassificationGridTrial.
/// Shapes    kappas x gains; reference kappa x gains + gain, the index of a loss.
/// Units     nats.
/// Domain    as SphereTask and ClassificationGrid; -1 <= reference < kappas x gains; options.trials, no relative_error.
/// Errors    std::invalid_argument for task, sizes or chart of the grid, options or reference; std::domain_error for a
///           kappa or gain of the grid.
/// Accuracy  as classification; with T = float a small kappa of chart slope magnifies rounding by 1 / kappa.
/// Random    as classification: the same contexts.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationGridSimulation classification_grid(const SphereTask& task, const ClassificationGrid& grid,
                                                 const Options& options, std::int64_t reference = no_reference) {
  constexpr auto where = "simulate::classification_grid";
  validate(options);
  validate(task, where);
  detail::require_grid<T>(where, grid);
  detail::require_reference(where, grid, reference);
  detail::require_trials_alone(where, options);
  return detail::run_grid<T>(task, grid, options, static_cast<int>(reference));
}

}  // namespace incontext::simulate
