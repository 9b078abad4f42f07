#include "examples/gradients/simulator.hpp"

#include <incontext/simulate/gradient_norms.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::gradients {

namespace {

/// The largest number of trials for medians, since every trial is kept.
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

}  // namespace incontext::examples::gradients
