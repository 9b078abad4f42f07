#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/rows/score_rows_run.hpp"
#include "incontext/simulate/rows/score_rows_trial.hpp"
#include "incontext/simulate/rows/score_rows_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Rows of softmax weights over random scores, simulated: the referee of the laws of incontext/laws.
namespace incontext::simulate {

/// Independent normal scores of mean 0.
inline ScoreRow normal_scores(std::int64_t count, double variance) {
  require_non_negative("simulate::normal_scores", "variance", variance);
  return {ScoreLaw::normal, count, 0, std::sqrt(variance)};
}

/// Independent scores, uniform between two edges.
inline ScoreRow uniform_scores(std::int64_t count, double lower, double upper) {
  return {ScoreLaw::uniform, count, lower, upper - lower};
}

/// Scores on an even grid: lower + k (upper - lower) / (count - 1), k = 0 ... count - 1.
inline ScoreRow grid_scores(std::int64_t count, double lower, double upper) {
  return {ScoreLaw::grid, count, lower, upper - lower};
}

/// The values of every trial, for what a mean does not contain: medians, and the share of the largest trial.
///
/// Shapes    values of one functional at one point are contiguous and ascending.
/// Units     as RowFunctional.
struct ScoreRowSample {
  Sample sample;
  int functionals = 0;

  [[nodiscard]] std::size_t output(std::size_t point, RowFunctional functional) const {
    return point * static_cast<std::size_t>(functionals) + static_cast<std::size_t>(functional);
  }
  [[nodiscard]] const double* sorted(std::size_t point, RowFunctional functional) const {
    return sample.sorted(output(point, functional));
  }
  [[nodiscard]] double median(std::size_t point, RowFunctional functional) const {
    return sample.median(output(point, functional));
  }
  [[nodiscard]] double largest_share(std::size_t point, RowFunctional functional) const {
    return sample.largest_share(output(point, functional));
  }
};

/// Expectations over softmax rows at several inverse temperatures, simulated on common draws.
///
///     const auto row = simulate::normal_scores(/*count=*/1000, /*variance=*/1.0);
///     const auto run = simulate::score_rows(row, /*inverse_temperatures=*/{0.5, 1.0}, {.seed = 1, .trials = 4096});
///
/// Source    the definition. It is the referee of laws::gaussian_row, laws::needle_weight and their relatives.
/// Shapes    (inverse_temperatures: m) -> m points
/// Units     inverse_temperatures in one over the units of the scores.
/// Domain    as ScoreRow; inverse_temperatures positive and finite.
/// Errors    std::invalid_argument for competitors, options or no inverse temperature; std::domain_error for another
///           field of row or for an inverse temperature.
/// Accuracy  standard error in the result, to be trusted where effective_trials is large, and a bound on its rounding;
///           T = float adds a relative bias below 1e-5: tests/simulate/rows/score_rows.cpp.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ScoreRowSimulation score_rows(const ScoreRow& row, const std::vector<double>& inverse_temperatures,
                              const Options& options) {
  validate(options);
  detail::require_row("simulate::score_rows", row, inverse_temperatures);
  const Device device = resolve(options.device, options.gpu);
  auto simulation = detail::with_row_trial<T>(
      device, row, inverse_temperatures, [&](auto system, const ScoreRowTrial<T>& trial) -> ScoreRowSimulation {
        return {run_on<decltype(system)>(device, trial, options), trial.functionals()};
      });
  detail::add_exponent_rounding<T>(simulation, row, inverse_temperatures);
  return simulation;
}

/// The first `options.trials` trials of score_rows, each kept.
///
/// Source    as score_rows.
/// Shapes    as ScoreRowSample: 8 bytes per trial, point and functional.
/// Units     as score_rows.
/// Domain    as score_rows; options.trials >= 1, relative_error 0.
/// Errors    as score_rows; std::invalid_argument for no trials.
/// Random    as score_rows: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ScoreRowSample score_row_sample(const ScoreRow& row, const std::vector<double>& inverse_temperatures,
                                const Options& options) {
  constexpr auto where = "simulate::score_row_sample";
  validate(options);
  detail::require_row(where, row, inverse_temperatures);
  require_at_least(where, "trials", options.trials, std::int64_t{1});
  const Device device = resolve(options.device, options.gpu);
  return detail::with_row_trial<T>(device, row, inverse_temperatures,
                                   [&](auto system, const ScoreRowTrial<T>& trial) -> ScoreRowSample {
                                     return {sample_on<decltype(system)>(trial, options), trial.functionals()};
                                   });
}

}  // namespace incontext::simulate
