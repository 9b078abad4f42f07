#include "examples/softmax_error/simulator.hpp"

#include <incontext/simulate/regression/reduced_softmax_error.hpp>
#include <incontext/simulate/regression/regression_error.hpp>

#include <variant>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::softmax_error {

namespace {

template <class Kind>
std::vector<Kind> all_of_kind(const std::vector<Map>& maps) {
  std::vector<Kind> result;
  for (const Map& map : maps) result.push_back(std::get<Kind>(map));
  return result;
}

}  // namespace

struct Simulator::State {
  SimulationRuns runs;
  EstimatorChoice estimator;

  template <class Kind>
  Estimates errors(const std::string& what, const Situation& at, const std::vector<Map>& maps) {
    const auto simulation = [&](const simulate::Options& options) {
      return simulate::reduced_softmax_error(at.attention, at.task, at.context_length, all_of_kind<Kind>(maps),
                                             options);
    };
    return runs.run(what, maps.size(), simulation).estimates;
  }
};

Simulator::Simulator(const SimulationOptions& options, EstimatorChoice estimator, bool quiet)
    : state_(new State{.runs = SimulationRuns(options, quiet), .estimator = estimator}) {}

Simulator::~Simulator() = default;

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

Estimates Simulator::errors(const std::string& what, const Situation& at, const std::vector<Map>& maps) {
  if (std::holds_alternative<SSA>(maps.front())) return state_->errors<SSA>(what, at, maps);
  if (std::holds_alternative<SSMax>(maps.front())) return state_->errors<SSMax>(what, at, maps);
  if (state_->estimator == EstimatorChoice::reduced) return state_->errors<Softmax>(what, at, maps);
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::regression_error(at.attention, at.task, at.context_length, all_of_kind<Softmax>(maps), options,
                                      {.query = at.query});
  };
  return state_->runs.run(what, maps.size(), simulation).estimates;
}

}  // namespace incontext::examples::softmax_error
