#include "examples/train/simulator.hpp"

#include <incontext/sampled_training/context_training.hpp>
#include <incontext/simulate/classification/classification_search.hpp>
#include <incontext/simulate/classification/sphere_task.hpp>

#include <algorithm>
#include <cmath>

#include "examples/support/simulation_runs.hpp"
#include "examples/train/kept_training.hpp"
#include "examples/train/train_regression.hpp"
#include "examples/train/train_transience.hpp"
#include "examples/train/trained_map.hpp"

namespace incontext::examples::train {

// Functions that are found by their arguments are in no unnamed namespace.
static void pass_fields(Numbers& numbers, TrainedContext& at) {
  numbers(at.step, at.gradient_norm, at.head.key_query, at.head.output);
}

namespace {

using incontext::training::ContextBatches;
using incontext::training::ContextLayer;
using incontext::training::ContextParameters;
using incontext::training::ContextTraining;

ContextParameters parameters_of(ContextWeights weights) {
  switch (weights) {
    case ContextWeights::merged:
      return ContextParameters::merged;
    case ContextWeights::factored:
      return ContextParameters::factored;
    default:
      return ContextParameters::merged_output;
  }
}

TrainedMap map_of(const ContextRun& run) {
  return {run.map == ContextMap::linear ? RegressionMap::linear : RegressionMap::softmax};
}

/// What the scores of a run's map are multiplied by.
double scale_of(const ContextRun& run) {
  if (run.map == ContextMap::linear) return 1;
  return 1 / std::sqrt(static_cast<double>(run.task.dimension + run.task.classes));
}

}  // namespace

struct Simulator::State {
  SimulationRuns runs;
  std::uint64_t seed;
};

Simulator::Simulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet), options.seed}) {}
Simulator::~Simulator() = default;

bool Simulator::stopped() const { return state_->runs.stopped(); }
const RunSummary& Simulator::summary() const { return state_->runs.summary(); }

std::vector<TrainedContext> Simulator::train(const std::string& what, const ContextRun& run,
                                             const std::vector<std::int64_t>& steps) {
  std::vector<TrainedContext> reached;
  SimulationRuns& runs = state_->runs;
  runs.train(what, [&](const simulate::Options& options) {
    const double scale = scale_of(run);
    const ContextTraining<TrainedMap> layer(
        ContextLayer{.task = run.task, .scale = scale, .query = run.query, .parameters = parameters_of(run.weights)},
        map_of(run),
        ContextBatches{.batch = run.batch,
                       .seed = run.seed,
                       .device = options.device,
                       .threads = options.threads,
                       .gpu = options.gpu});
    std::vector<double> initial = layer.initial(run.initial_scale);
    if (run.weights == ContextWeights::fixed_width) {
      const auto width = layer.width();
      Eigen::Map<Eigen::MatrixXd> key_query(initial.data(), width, width);
      key_query.setZero();
      key_query.diagonal().head(run.task.dimension).setConstant(1 / scale);
    }
    training::Trainer trainer(initial, layer.gradient(),
                              {.rate = {.peak = run.rate,
                                        .decay = training::RateDecay::cosine,
                                        .steps = run.decay_steps > 0 ? run.decay_steps : run.steps},
                               .largest_gradient_norm = 10,
                               .largest_loss_growth = diverged_loss_growth});
    KeptTraining kept(runs.summary().file.get(), what, options, steps.back());
    kept.resume(trainer);
    reached = kept.results<TrainedContext>();
    const std::int64_t known = reached.empty() ? 0 : reached.back().step;
    // A shorter training that is resumed has results at other steps, too.
    std::erase_if(reached,
                  [&](const auto& at) { return std::find(steps.begin(), steps.end(), at.step) == steps.end(); });
    SimulationRuns::Training done;
    for (const std::int64_t next : steps) {
      if (kept.is_complete() || next <= known || next < trainer.steps()) continue;
      if (!kept.advance(trainer, next)) break;
      const auto head = layer.heads(trainer.parameters()).front();
      reached.push_back({next, {head.key_query, head.output}, kept.last().gradient_norm});
      kept.add(reached.back());
    }
    done.interrupted = reached.empty() || reached.back().step < steps.back();
    if (!done.interrupted) kept.end();
    done.drawn = kept.steps() * run.batch;
    return done;
  });
  return reached;
}

std::vector<TrainedRegression> Simulator::train_regression(const std::string& what, const RegressionRun& run,
                                                           const std::vector<std::int64_t>& steps) {
  return train::train_regression(state_->runs, what, run, steps);
}

std::vector<TransiencePoint> Simulator::train_transience(const std::string& what, const TransienceRun& run) {
  return train::train_transience(state_->runs, what, run);
}

std::optional<ClassificationOptimum> Simulator::search(const std::string& what, const SphereTask& task,
                                                       const ClassificationGrid& grid) {
  std::optional<ClassificationOptimum> found;
  state_->runs.run(what, 0, [&](simulate::Options options) {
    options.trials = 8192;
    options.relative_error = 0;
    auto optimum = simulate::classification_search(task, grid, options);
    simulate::Simulation done = optimum.grid;
    if (!done.interrupted) found = optimum;
    return done;
  });
  return found;
}

SphereContext<double> Simulator::held_out(const SphereTask& task, std::uint64_t number) const {
  return simulate::draw_sphere_context<double>(task, state_->seed,
                                               static_cast<std::uint64_t>(ContextBatches::held_out) + number);
}

}  // namespace incontext::examples::train
