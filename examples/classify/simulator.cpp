#include "examples/classify/simulator.hpp"

#include <incontext/simulate/classification.hpp>
#include <incontext/simulate/classification_grid.hpp>
#include <incontext/simulate/classification_search.hpp>

#include "examples/support/simulation_runs.hpp"

namespace incontext::examples::classify {

struct Simulator::State {
  SimulationRuns runs;
  std::uint64_t seed;
  std::int64_t search_trials;

  simulate::Options searching(simulate::Options options) const {
    options.trials = search_trials;
    options.relative_error = 0;
    return options;
  }
};

Simulator::Simulator(const SimulationOptions& options, std::int64_t search_trials, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), options.seed, search_trials}) {}

Simulator::~Simulator() = default;

bool Simulator::stopped() const { return state_->runs.stopped(); }
const RunRecord& Simulator::record() const { return state_->runs.record(); }
void Simulator::count(std::int64_t trials, std::int64_t planned) { state_->runs.count(trials, planned); }

ClassificationSimulation Simulator::metrics(const std::string& what, const SphereTask& task,
                                            const std::vector<Classifier>& classifiers, std::int64_t most_trials) {
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(ClassificationMetric::sensitivity);
  return {state_->runs.run(what, classifiers.size() * metrics, [&](simulate::Options options) {
    const bool is_more = options.trials == 0 || options.trials > most_trials;
    if (most_trials > 0 && is_more) options.trials = most_trials;
    return simulate::classification(task, classifiers, options).run;
  })};
}

AlignmentSimulation Simulator::alignment(const std::string& what, const SphereTask& task,
                                         const std::vector<ClassifierPair>& pairs) {
  constexpr std::size_t metrics = 1 + static_cast<std::size_t>(AlignmentMetric::sensitivity_difference);
  return {state_->runs.run(what, pairs.size() * metrics, [&](const simulate::Options& options) {
    return simulate::classification_alignment(task, pairs, options).run;
  })};
}

std::optional<ClassificationOptimum> Simulator::search(const std::string& what, const SphereTask& task,
                                                       const ClassificationGrid& grid) {
  ClassificationOptimum found;
  state_->runs.run(what, 0, [&](const simulate::Options& options) {
    found = simulate::classification_search(task, grid, state_->searching(options));
    return found.grid;
  });
  if (found.loss.count == 0 || state_->runs.stopped()) return {};
  return found;
}

ClassificationGridSimulation Simulator::losses(const std::string& what, const SphereTask& task,
                                               const ClassificationGrid& grid, std::int64_t reference, Effort effort) {
  const std::size_t kappas = grid.kappas.size(), gains = grid.gains.size();
  const auto simulation = [&](const simulate::Options& options) {
    auto at = state_->searching(options);
    if (effort == Effort::twofold && options.trials > 0) at.trials = 2 * options.trials;
    return simulate::classification_grid(task, grid, at, reference).run;
  };
  return {state_->runs.run(what, 2 * kappas * gains + kappas, simulation), kappas, gains};
}

SphereContext<double> Simulator::context(const SphereTask& task, std::uint64_t number) const {
  return simulate::draw_sphere_context<double>(task, state_->seed, number);
}

}  // namespace incontext::examples::classify
