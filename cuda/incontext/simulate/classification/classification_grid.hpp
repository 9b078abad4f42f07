#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_grid_runner.hpp"
#include "incontext/simulate/classification/classification_grid_trial.hpp"
#include "incontext/simulate/classification/classification_grid_types.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/classifiers_run.hpp"
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
                                                 const Options& options, std::int64_t reference = no_reference);

// Checks of a grid of classifiers, and its run on one system.
namespace detail {

template <class T>
void require_axis(std::string_view where, std::string_view name, const std::vector<double>& axis) {
  require_at_least(where, std::string(name) + ".size()", axis.size(), std::size_t{1});
  for (std::size_t i = 0; i < axis.size(); ++i) {
    require_number<T>(where, name, axis[i]);
    if (i > 0 && !(axis[i - 1] < axis[i])) {
      throw_domain_error(where, std::string(name) + " are not ascending", axis[i], "more than the one before");
    }
  }
}

template <class T>
void require_grid(std::string_view where, const ClassificationGrid& grid) {
  require_axis<T>(where, "kappas", grid.kappas);
  require_axis<T>(where, "gains", grid.gains);
  require_positive(where, "gains", grid.gains.front());
  if (grid.kappas.size() > 1000000 / grid.gains.size()) {
    throw_invalid_argument(where, "kappas.size() is too large for the gains", grid.kappas.size(),
                           "kappas x gains <= 1e6");
  }
  if (grid.rule == ClassificationRule::linear) {
    require_same_size(where, "kappas of the linear rule", grid.kappas.size(), std::size_t{1});
  }
  require_kappa<T>(where, grid.rule, grid.kappas.front());
  const bool adapts = grid.rule != ClassificationRule::linear && grid.rule != ClassificationRule::kernel;
  if (grid.chart == GridChart::slope && !adapts) {
    throw_invalid_argument(where, "chart slope of a rule that does not adapt", static_cast<int>(grid.rule),
                           "adaptive or adaptive_with_query");
  }
  // With chart slope the gain is slope / kappa, which overflows for a kappa that is too small, as 1 / kappa does.
  for (const double kappa : grid.kappas) {
    require_classifier<T>(where, grid.classifier(kappa, 1));
    require_classifier<T>(where, grid.classifier(kappa, grid.gains.back()));
  }
}

/// Refuses relative_error: the errors of a grid are many, and a run cannot aim at one.
inline void require_trials_alone(std::string_view where, const Options& options) {
  if (options.relative_error > 0) {
    throw_invalid_argument(where, "relative_error is given", options.relative_error, "trials alone");
  }
}

template <class T>
std::vector<ClassificationRow<T>> rows_of(const ClassificationGrid& grid) {
  std::vector<ClassificationRow<T>> rows;
  for (const double kappa : grid.kappas) {
    const Classifier unit = grid.classifier(kappa, 1);
    rows.push_back({unit.rule, static_cast<T>(unit.kappa), static_cast<T>(unit.gain)});
  }
  return rows;
}

inline void require_reference(std::string_view where, const ClassificationGrid& grid, std::int64_t reference) {
  const auto points = static_cast<std::int64_t>(grid.kappas.size() * grid.gains.size());
  require_at_least(where, "reference", reference, no_reference);
  if (reference >= points) {
    throw_invalid_argument(where, "reference is no point of the grid", reference,
                           "less than " + std::to_string(points));
  }
}

/// Adds the rounding of the logits. A difference of two losses has the rounding of both, however small it is itself.
template <class T>
void add_grid_rounding(ClassificationGridSimulation& simulation, const ClassificationGrid& grid, int reference) {
  const std::size_t losses = simulation.kappas * simulation.gains;
  auto& estimates = simulation.run.estimates;
  for (std::size_t i = 0; i < losses; ++i) {
    estimates[i].rounding +=
        logit_rounding<T>(grid.classifier(grid.kappas[i / simulation.gains], grid.gains[i % simulation.gains]));
  }
  for (std::size_t i = 0; i < losses && reference >= 0; ++i) {
    estimates[losses + simulation.kappas + i].rounding +=
        estimates[i].rounding + estimates[static_cast<std::size_t>(reference)].rounding;
  }
}

/// The grid's simulation; `reference` is the index of a loss, or -1.
template <class T>
ClassificationGridSimulation run_grid(const SphereTask& task, const ClassificationGrid& grid, const Options& options,
                                      int reference) {
  const std::vector<ClassificationRow<T>> rows = rows_of<T>(grid);
  const std::vector<T> gains(grid.gains.begin(), grid.gains.end());
  const Device device = resolve(options.device, options.gpu);
  return with_system(device, [&](auto system) -> ClassificationGridSimulation {
    using System = decltype(system);
    const typename System::template Memory<ClassificationRow<T>> row_list(rows.begin(), rows.end());
    const typename System::template Memory<T> gain_list(gains.begin(), gains.end());
    const ClassificationGridTrial<T> trial{draw_of<T>(task),
                                           address(row_list),
                                           static_cast<int>(rows.size()),
                                           address(gain_list),
                                           static_cast<int>(gains.size()),
                                           reference};
    ClassificationGridSimulation simulation{GridRunner<System, T>(device, trial, options).run(), rows.size(),
                                            gains.size()};
    add_grid_rounding<T>(simulation, grid, reference);
    return simulation;
  });
}

}  // namespace detail

template <class T>
ClassificationGridSimulation classification_grid(const SphereTask& task, const ClassificationGrid& grid,
                                                 const Options& options, std::int64_t reference) {
  constexpr auto where = "simulate::classification_grid";
  validate(options);
  validate(task, where);
  detail::require_grid<T>(where, grid);
  detail::require_reference(where, grid, reference);
  detail::require_trials_alone(where, options);
  return detail::run_grid<T>(task, grid, options, static_cast<int>(reference));
}

}  // namespace incontext::simulate
