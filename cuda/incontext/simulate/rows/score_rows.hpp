#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
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
                              const Options& options);

/// The first `options.trials` trials of score_rows, each kept.
///
/// Source    as score_rows.
/// Shapes    as ScoreRowSample: 8 bytes per trial, point and functional.
/// Domain    as score_rows; options.trials >= 1, relative_error 0.
/// Errors    as score_rows; std::invalid_argument for no trials.
/// Random    as score_rows: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ScoreRowSample score_row_sample(const ScoreRow& row, const std::vector<double>& inverse_temperatures,
                                const Options& options);

// Checks of a law of scores, and the run of its trial on one system.
namespace detail {

inline void require_row(std::string_view where, const ScoreRow& row, const std::vector<double>& inverse_temperatures) {
  require_at_least(where, "competitors", row.competitors, std::int64_t{1});
  // Blocks of a stream are counted in 32 bits.
  if (row.competitors > 4000000000) {
    throw_invalid_argument(where, "competitors are too many", row.competitors, "at most 4e9");
  }
  const auto finite = [&](std::string_view name, double value) {
    if (!std::isfinite(value)) throw_domain_error(where, std::string(name) + " is not finite", value, "a number");
  };
  finite("location", row.location);
  finite("scale", row.scale);
  finite("needle", row.needle);
  finite("needle_stddev", row.needle_stddev);
  require_non_negative(where, "scale", row.scale);
  require_non_negative(where, "needle_stddev", row.needle_stddev);
  require_at_least(where, "inverse_temperatures.size()", inverse_temperatures.size(), std::size_t{1});
  for (const double beta : inverse_temperatures) {
    require_positive(where, "inverse_temperature", beta);
    finite("inverse_temperature", beta);
  }
}

/// Adds the rounding of the exponents: the relative error of a weight is eps times its score and the inverse
/// temperature, that of a logarithm is eps. The size of the scores is that of a needle or of the highest of 1e9 normal
/// scores, six standard deviations.
template <class T>
void add_exponent_rounding(ScoreRowSimulation& simulation, const ScoreRow& row,
                           const std::vector<double>& inverse_temperatures) {
  const double size = std::abs(row.location) + 6 * row.scale + std::abs(row.needle) + 6 * row.needle_stddev;
  for (std::size_t i = 0; i < simulation.run.estimates.size(); ++i) {
    statistics::Estimate& estimate = simulation.run.estimates[i];
    const double beta = inverse_temperatures[i / static_cast<std::size_t>(simulation.functionals)];
    const auto functional = static_cast<RowFunctional>(i % static_cast<std::size_t>(simulation.functionals));
    const bool is_log = functional == RowFunctional::log_partition || functional == RowFunctional::entropy;
    const double exponent = beta * size * (functional == RowFunctional::log_partition ? 1 : std::abs(estimate.mean));
    if (estimate.count > 0) estimate.rounding += eps_of<T> * (exponent + (is_log ? 4 : 0));
  }
}

/// Calls visit(System{}, trial) with a trial whose grid is in the memory of the system.
template <class T, class Visit>
auto with_row_trial(Device device, const ScoreRow& row, const std::vector<double>& inverse_temperatures, Visit visit) {
  constexpr auto where = "simulate::score_rows";
  std::vector<T> numbers;
  for (const double beta : inverse_temperatures) {
    require_holds<T>(where, "inverse_temperature", beta, beta);
    numbers.push_back(static_cast<T>(beta));
  }
  require_holds<T>(where, "location", row.location, row.location);
  require_holds<T>(where, "scale", row.scale, row.scale);
  require_holds<T>(where, "needle", row.needle, row.needle);
  require_holds<T>(where, "needle_stddev", row.needle_stddev, row.needle_stddev);
  return with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<T> grid(numbers.begin(), numbers.end());
    const ScoreRowTrial<T> trial{row.law,
                                 row.competitors,
                                 static_cast<T>(row.location),
                                 static_cast<T>(row.scale),
                                 row.needle_token,
                                 static_cast<T>(row.needle),
                                 static_cast<T>(row.needle_stddev),
                                 address(grid),
                                 static_cast<int>(numbers.size())};
    return visit(system, trial);
  });
}

}  // namespace detail

template <class T>
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

template <class T>
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
