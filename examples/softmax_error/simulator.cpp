#include "examples/softmax_error/simulator.hpp"

#include <incontext/simulate/regression/multihead_error.hpp>
#include <incontext/simulate/regression/reduced_softmax_error.hpp>
#include <incontext/simulate/regression/regression_error.hpp>

#include <concepts>
#include <vector>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::softmax_error {

struct Simulator::State {
  SimulationRuns runs;
  EstimatorChoice estimator;
};

Simulator::Simulator(const SimulationOptions& options, EstimatorChoice estimator, bool quiet)
    : state_(new State{.runs = SimulationRuns(options, quiet), .estimator = estimator}) {}

Simulator::~Simulator() = default;

const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

Estimates Simulator::errors(const std::string& what, const Situation& at, const std::vector<Map>& maps) {
  const bool reduced = state_->estimator == EstimatorChoice::reduced;
  const auto simulation = [&](const simulate::Options& options) {
    return maps::visit_list(
        "simulate::regression_error", maps, [&]<scoring::SoftmaxLike Map>(const std::vector<Map>& list) {
          if constexpr (std::same_as<Map, Softmax>) {
            if (!reduced) {
              return simulate::regression_error(at.attention, at.task, at.context_length, list, options,
                                                {.query = at.query});
            }
          }
          return simulate::reduced_softmax_error(at.attention, at.task, at.context_length, list, options);
        });
  };
  return state_->runs.run(what, maps.size(), simulation).estimates;
}

Estimates Simulator::heads_error(const std::string& what, const Situation& at, const Heads& heads) {
  const auto simulation = [&](const simulate::Options& options) {
    return simulate::multihead_error(at.attention.key_query, at.task, at.context_length, heads.key_query_scales,
                                     heads.values, options);
  };
  return state_->runs.run(what, 1, simulation).estimates;
}

}  // namespace incontext::examples::softmax_error
