#pragma once

#include <incontext/sampled_training/regression_training.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/simulation_runs.hpp"
#include "examples/train/kept_training.hpp"
#include "examples/train/regression_runs.hpp"
#include "examples/train/trained_map.hpp"

/// The training of regression_runs.hpp. Only simulator.cpp includes this.
namespace incontext::examples::train {

inline void pass_fields(Numbers& numbers, TrainedRegression& at) { numbers(at.step, at.parameters); }

namespace detail {

inline training::TrainerOptions options_of(const RegressionRun& run) {
  if (run.plain_descent) return training::gradient_descent(run.rate);
  training::TrainerOptions options;
  options.rate = {.peak = run.rate, .decay = training::RateDecay::cosine, .steps = run.steps};
  options.largest_gradient_norm = 10;
  options.largest_loss_growth = diverged_loss_growth;
  return options;
}

}  // namespace detail

inline std::vector<TrainedRegression> train_regression(SimulationRuns& runs, const std::string& what,
                                                       const RegressionRun& run,
                                                       const std::vector<std::int64_t>& steps) {
  std::vector<TrainedRegression> reached;
  runs.train(what, [&](const simulate::Options& options) {
    const incontext::training::RegressionTraining<TrainedMap> layer(
        {run.task, run.context_length, run.parameters, run.fixed, run.heads}, TrainedMap{run.map},
        {.batch = run.batch,
         .seed = run.seed,
         .device = options.device,
         .threads = options.threads,
         .gpu = options.gpu});
    training::Trainer trainer(run.initial.empty() ? layer.initial() : run.initial, layer.gradient(),
                              detail::options_of(run));
    KeptTraining kept(runs.summary().file.get(), what, options, steps.back());
    kept.resume(trainer);
    reached = kept.results<TrainedRegression>();
    SimulationRuns::Training done;
    for (std::size_t i = reached.size(); i < steps.size() && kept.advance(trainer, steps[i]); ++i) {
      reached.push_back({steps[i], trainer.parameters()});
      kept.add(reached.back());
    }
    done.interrupted = reached.size() < steps.size();
    if (!done.interrupted) kept.end();
    done.drawn = kept.steps() * run.batch;
    if (done.interrupted || run.held_out == 0) return done;
    const auto tested = layer.evaluate(reached.back().parameters, run.held_out);
    done.interrupted = tested.empty();
    if (done.interrupted) {
      reached.pop_back();
    } else {
      done.drawn += run.held_out;
      reached.back().loss = tested.front().mean;
    }
    return done;
  });
  return reached;
}

}  // namespace incontext::examples::train
