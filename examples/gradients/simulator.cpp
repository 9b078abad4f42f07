#include "examples/gradients/simulator.hpp"

#include <incontext/simulate/gradient_norms.hpp>
#include <incontext/simulate/run.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "examples/gradients/layer_trials.hpp"
#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::gradients {

namespace {

/// What medians are taken of at most: every trial is kept.
constexpr std::int64_t most_kept_trials = 65536;

}  // namespace

struct Simulator::State {
  SimulationRuns runs;
  std::int64_t tokens, dimension;
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), options.context_length, options.dimension}) {}

Simulator::~Simulator() = default;

const RunRecord& Simulator::record() const { return state_->runs.record(); }

MeasuredGradients Simulator::gradients(simulate::GradientMap map, const std::vector<double>& score_stddevs) {
  using simulate::GradientNorm;
  const simulate::GradientRow row{state_->tokens, state_->dimension, map};
  MeasuredGradients measured;
  measured.median.assign(score_stddevs.size(), std::numeric_limits<double>::quiet_NaN());
  const auto simulation = [&](simulate::Options options) {
    simulate::GradientNormsSimulation result = simulate::gradient_norms(row, score_stddevs, options);
    if (result.run.interrupted) return std::move(result.run);
    options.trials = std::min(result.run.trials, most_kept_trials);
    options.relative_error = 0;
    const auto sample = simulate::gradient_norms_sample(row, score_stddevs, options);
    for (std::size_t i = 0; i < score_stddevs.size(); ++i) measured.median[i] = sample.median(i, GradientNorm::ratio);
    return std::move(result.run);
  };
  constexpr std::size_t norms = 1 + static_cast<std::size_t>(GradientNorm::key_orthogonal);
  measured.norms.run = state_->runs.run("gradients", score_stddevs.size() * norms, simulation);
  return measured;
}

namespace {

using Estimates = std::vector<statistics::Estimate>;

/// Trials of one row of scores are cheap: this many for each that was asked for.
constexpr std::int64_t cheap_trials = 16;

/// What `trial_of` a grid of points gives, point by point; grids of the largest size share their draws.
template <class TrialOf>
Estimates over_grids(SimulationRuns& runs, const std::vector<double>& points, std::int64_t more,
                     const TrialOf& trial_of) {
  Estimates all;
  for (std::size_t first = 0; first < points.size(); first += PointGrid::most) {
    PointGrid grid;
    for (std::size_t i = first; i < points.size() && grid.size < PointGrid::most; ++i) grid.at[grid.size++] = points[i];
    const auto trial = trial_of(grid);
    const auto found = runs.run("gradients", static_cast<std::size_t>(trial.outputs()), [&](simulate::Options at) {
      at.trials *= more;
      return simulate::run(trial, at);
    });
    all.insert(all.end(), found.estimates.begin(), found.estimates.end());
  }
  return all;
}

}  // namespace

Estimates Simulator::queries(std::int64_t key_dimension, const std::vector<double>& score_stddevs) {
  return over_grids(state_->runs, score_stddevs, 1, [&](const PointGrid& grid) {
    return QueryGradientTrial{state_->tokens, state_->dimension, static_cast<double>(key_dimension), grid};
  });
}

Estimates Simulator::groups(double score_stddev, const std::vector<double>& gaps) {
  const std::int64_t first = state_->tokens / 2;
  return over_grids(state_->runs, gaps, cheap_trials, [&](const PointGrid& grid) {
    return GroupGradientTrial{first, state_->tokens - first, score_stddev, grid};
  });
}

Estimates Simulator::jacobians(const std::vector<double>& score_stddevs) {
  return over_grids(state_->runs, score_stddevs, cheap_trials, [&](const PointGrid& grid) {
    return JacobianTrial{state_->tokens, grid};
  });
}

Estimates Simulator::dot_product(std::int64_t key_dimension) {
  return over_grids(state_->runs, {1}, 32 * cheap_trials,
                    [&](const PointGrid&) { return DotProductTrial{key_dimension}; });
}

}  // namespace incontext::examples::gradients
