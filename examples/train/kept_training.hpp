#pragma once

#include <incontext/training/trainer.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/support/record_file.hpp"
#include "examples/support/simulation_runs.hpp"
#include "examples/train/numbers.hpp"

/// How every training of incontext train runs. Only simulators include this.
namespace incontext::examples::train {

/// Training whose loss has grown this many times has diverged, even where clipping keeps the gradient finite.
inline constexpr double diverged_loss_growth = 1000;

/// One training of a run: it heeds stop requests, reports its steps to the progress line, and is kept in the record of
/// the run, if there is one, from which it goes on to the same bits. Options are those of the simulation.
template <class Options>
class KeptTraining {
 public:
  /// `file` may be absent; `steps` are those of the whole training.
  KeptTraining(RecordFile* file, const std::string& name, const Options& options, std::int64_t steps)
      : file_(file),
        kept_(file == nullptr ? own_ : file->trainings().begin(name)),
        options_(options),
        planned_(steps),
        steps_(kept_.state.adam.steps) {}
  KeptTraining(const KeptTraining&) = delete;
  KeptTraining& operator=(const KeptTraining&) = delete;

  /// Whether the record has all results of this training.
  bool is_complete() const { return kept_.complete; }

  /// The results that the record has.
  template <class Result>
  std::vector<Result> results() const {
    std::vector<Result> results;
    for (const std::vector<double>& list : kept_.results) {
      Numbers numbers(list);
      numbers(results.emplace_back());
      if (!numbers.is_at_end()) throw InputError("--resume: the results of a training in the record are too many");
    }
    return results;
  }

  /// Lets the trainer go on from the record.
  void resume(training::Trainer& trainer) const {
    if (kept_.state.parameters.empty()) return;
    try {
      trainer.resume(kept_.state);
    } catch (const std::invalid_argument& error) {
      throw InputError("--resume: training '" + shown(kept_.name) + "' of the record is another one: " + error.what());
    }
  }

  /// Trains up to a step. False if a stop request came before.
  bool advance(training::Trainer& trainer, std::int64_t step) {
    while (trainer.steps() < step) {
      if (simulate::InterruptGuard::requested() || !trainer.step(&kept_.last)) break;
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began_;
      options_.progress({trainer.steps(), planned_, elapsed.count()});
      if (file_ == nullptr || !file_->is_due()) continue;
      kept_.state = trainer.state();
      file_->keep();
    }
    steps_ = trainer.steps();
    if (file_ != nullptr) kept_.state = trainer.state();
    return steps_ >= step;
  }

  /// How many steps are done, of a complete training those of its end.
  std::int64_t steps() const { return steps_; }

  /// What the last step did.
  const training::StepRecord& last() const { return kept_.last; }

  template <class Result>
  void add(const Result& result) {
    if (file_ == nullptr) return;
    Numbers numbers;
    Result copy = result;
    numbers(copy);
    kept_.results.push_back(numbers.list());
  }

  /// Says that all results are there. The state is kept only where a later run may ask for more steps.
  void end() {
    if (file_ == nullptr) return;
    kept_.complete = true;
    if (!file_->may_grow()) kept_.state = {.adam = {.steps = steps_}, .first_loss = kept_.state.first_loss};
    if (file_->is_due()) file_->keep();
  }

 private:
  RecordFile* file_;
  RecordedTraining own_ = {};
  RecordedTraining& kept_;
  const Options& options_;
  std::int64_t planned_, steps_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace incontext::examples::train
