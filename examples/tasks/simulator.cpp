#include "examples/tasks/simulator.hpp"

#include <incontext/simulate/run.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include "examples/support/simulation_runs.hpp"
#include "examples/tasks/answers.hpp"

namespace incontext::examples::tasks {

struct Simulator::State {
  SimulationRuns runs;

  template <class Trial>
  std::vector<statistics::Estimate> means(const std::string& what, const Trial& trial) {
    const auto size = static_cast<std::size_t>(trial.outputs());
    return runs.run(what, size, [&](const simulate::Options& options) { return simulate::run(trial, options); })
        .estimates;
  }
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet)}) {}

Simulator::~Simulator() = default;

const RunRecord& Simulator::record() const { return state_->runs.record(); }

std::vector<statistics::Estimate> Simulator::affine(const AffineSetting& setting) {
  return state_->means("affine functions", AffineAnswersTrial{setting});
}

std::vector<statistics::Estimate> Simulator::quantifier(std::int64_t length) {
  return state_->means("quantifiers", QuantifierAnswersTrial{length});
}

std::vector<statistics::Estimate> Simulator::reasoning(std::int64_t largest_value, double parities_differ) {
  return state_->means("reasoning", ReasoningAnswersTrial{largest_value, parities_differ});
}

}  // namespace incontext::examples::tasks
