#include "examples/train/reasoning_simulator.hpp"

#include <incontext/sampled_training/reasoning_training.hpp>
#include <incontext/scoring/heat_schedule.hpp>
#include <incontext/scoring/normsoftmax.hpp>
#include <incontext/scoring/softmax.hpp>

#include <algorithm>
#include <cmath>

#include "examples/support/simulation_runs.hpp"
#include "examples/train/kept_training.hpp"

namespace incontext::examples::train {

// Functions that are found by their arguments are in no unnamed namespace.
static void pass_fields(Numbers& numbers, training::ReasoningMeasurement& at) {
  numbers(at.step, at.loss, at.accuracy, at.held_out_loss, at.held_out_standard_error, at.held_out_accuracy, at.entropy,
          at.query_gradient, at.key_gradient, at.value_gradient);
}

namespace {

using incontext::training::GradientScaling;
using incontext::training::ReasoningBatches;
using incontext::training::ReasoningTraining;
using scoring::NormSoftmax, scoring::Softmax;

constexpr int heads = 4;

training::ReasoningShape shape_of(const ReasoningRun& run) {
  return {.width = static_cast<int>(run.width), .heads = heads, .hidden = static_cast<int>(2 * run.width)};
}

/// Calls visit(map of a step) with the map of a method.
template <class Visit>
auto with_map(const ReasoningRun& run, const Visit& visit) {
  const auto usual = static_cast<float>(std::sqrt(static_cast<double>(run.width) / heads));
  const auto low = static_cast<float>(run.low_temperature);
  switch (run.method) {
    case ReasoningMethod::normsoftmax:
      return visit([=](std::int64_t) { return NormSoftmax<float>{usual}; });
    case ReasoningMethod::heat_treatment: {
      const scoring::HeatSchedule<float> heat{low, usual, static_cast<int>(run.steps)};
      return visit([=](std::int64_t step) {
        return Softmax<float>{heat.temperature(static_cast<int>(std::min<std::int64_t>(step, heat.epochs - 1)))};
      });
    }
    case ReasoningMethod::low_temperature:
      return visit([=](std::int64_t) { return Softmax<float>{low}; });
    default:
      return visit([=](std::int64_t) { return Softmax<float>{usual}; });
  }
}

}  // namespace

struct ReasoningSimulator::State {
  SimulationRuns runs;
};

ReasoningSimulator::ReasoningSimulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet)}) {}
ReasoningSimulator::~ReasoningSimulator() = default;

bool ReasoningSimulator::stopped() const { return state_->runs.stopped(); }
const RunSummary& ReasoningSimulator::summary() const { return state_->runs.summary(); }

std::vector<training::ReasoningMeasurement> ReasoningSimulator::train(const std::string& what, const ReasoningRun& run,
                                                                      double enough) {
  std::vector<training::ReasoningMeasurement> course;
  SimulationRuns& runs = state_->runs;
  runs.train(what, [&](const simulate::Options& options) {
    return with_map(run, [&](const auto& map_of_step) {
      using Map = decltype(map_of_step(std::int64_t{0}));
      const ReasoningTraining<Map> model(
          shape_of(run), typename ReasoningTraining<Map>::MapOfStep(map_of_step),
          ReasoningBatches{.seed = run.seed,
                           .training_share = run.training_share,
                           .batch = run.batch,
                           .answers = run.answers,
                           .scaling = run.method == ReasoningMethod::gradient_matching ? GradientScaling::matched
                                                                                       : GradientScaling::none,
                           .device = options.device,
                           .threads = options.threads});
      training::Trainer trainer(
          model.initial(run.initial_stddev), model.gradient(),
          {.adam = {.beta2 = 0.98, .weight_decay = run.weight_decay},
           .rate = {.peak = run.rate, .warmup_steps = run.warm_up, .decay = run.decay, .steps = run.steps},
           .largest_loss_growth = diverged_loss_growth},
          model.decays());
      KeptTraining kept(runs.summary().file.get(), what, options, run.steps);
      kept.resume(trainer);
      course = kept.template results<training::ReasoningMeasurement>();
      bool is_done = kept.is_complete();
      while (!is_done) {
        const std::int64_t at = trainer.steps();
        const bool is_known = !course.empty() && course.back().step == at;
        if (at % run.every == 0 && !is_known) {
          const auto measured = model.measure(trainer.parameters(), at);
          if (simulate::InterruptGuard::requested()) break;
          course.push_back(measured);
          kept.add(measured);
        }
        const bool has_learned =
            !course.empty() && course.back().step == at && course.back().held_out_accuracy > enough;
        is_done = has_learned || at == run.steps;
        if (!is_done && !kept.advance(trainer, std::min(run.steps, (at / run.every + 1) * run.every))) break;
      }
      if (is_done && !kept.is_complete()) kept.end();
      SimulationRuns::Training done{.interrupted = !is_done};
      const auto examples = run.batch == 0 ? std::ssize(model.trained()) : run.batch;
      done.drawn = kept.steps() * examples;
      return done;
    });
  });
  return course;
}

}  // namespace incontext::examples::train
