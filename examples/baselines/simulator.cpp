#include "examples/baselines/simulator.hpp"

#include <incontext/simulate/baselines/baseline_errors.hpp>

#include <string>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::baselines {

struct Simulator::State {
  SimulationRuns runs;
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet)}) {}

Simulator::~Simulator() = default;

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

std::vector<statistics::Estimate> Simulator::errors(const simulate::BaselineSetting& setting) {
  const auto simulation = [&](const simulate::Options& options) { return simulate::baseline_errors(setting, options); };
  const std::string what = std::to_string(setting.examples) + " examples";
  return state_->runs.run(what, setting.descents.size() + setting.penalties.size(), simulation).estimates;
}

}  // namespace incontext::examples::baselines
