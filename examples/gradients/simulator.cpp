#include "examples/gradients/simulator.hpp"

#include <incontext/simulate/gradient_norms.hpp>
#include <incontext/simulate/score_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples {

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

MeasuredGradients Simulator::gradients(MapChoice map, const std::vector<double>& spreads) {
  using simulate::GradientNorm;
  const simulate::GradientRow row{
      state_->tokens, state_->dimension,
      map == MapChoice::softmax ? simulate::GradientMap::softmax : simulate::GradientMap::normsoftmax};
  MeasuredGradients measured;
  measured.median.assign(spreads.size(), std::numeric_limits<double>::quiet_NaN());
  const auto simulation = [&](simulate::Options options) {
    simulate::GradientNormsSimulation result = simulate::gradient_norms(row, spreads, options);
    if (result.run.interrupted) return std::move(result.run);
    options.trials = std::min(result.run.trials, most_kept_trials);
    options.relative_error = 0;
    const auto sample = simulate::gradient_norms_sample(row, spreads, options);
    for (std::size_t i = 0; i < spreads.size(); ++i) measured.median[i] = sample.median(i, GradientNorm::ratio);
    return std::move(result.run);
  };
  const std::size_t outputs = spreads.size() * simulate::detail::gradient_norms;
  simulate::GradientNormsSimulation result;
  result.run.estimates = state_->runs.run("gradients", outputs, simulation);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    measured.value.push_back(result.at(i, GradientNorm::value));
    measured.key.push_back(result.at(i, GradientNorm::key));
    measured.imbalance.push_back(result.imbalance(i));
    measured.effective_trials.push_back(simulate::effective_trials(measured.key.back()));
  }
  return measured;
}

}  // namespace incontext::examples
