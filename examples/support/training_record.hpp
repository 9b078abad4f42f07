#pragma once

#include <incontext/training/trainer.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/text.hpp"

/// The trainings of a run, as far as they have come.
namespace incontext::examples {

/// What is known of one training: the state from which it goes on, and the results on its way, each a
/// list of numbers.
struct RecordedTraining {
  std::string name = {};
  bool complete = false;
  training::TrainingState state = {};  ///< without parameters before the first step, and when it is needed no more
  training::StepRecord last = {};      ///< of the last step
  std::vector<std::vector<double>> results = {};
};

/// The trainings come in the order in which the program begins them, which is the same in every run that resumes.
class TrainingRecord {
 public:
  explicit TrainingRecord(std::vector<RecordedTraining> trainings = {}) : trainings_(std::move(trainings)) {}

  const std::vector<RecordedTraining>& trainings() const { return trainings_; }

  /// Begins the next training; the reference is good until the training after it begins.
  RecordedTraining& begin(const std::string& name) {
    if (begun_ == trainings_.size()) trainings_.push_back({.name = name});
    RecordedTraining& current = trainings_[begun_++];
    if (current.name != name) {
      throw InputError("--resume: training " + std::to_string(begun_) + " of the record is another one (value = " +
                       shown(current.name) + "; needs " + shown(name) + ")");
    }
    return current;
  }

 private:
  std::vector<RecordedTraining> trainings_;
  std::size_t begun_ = 0;
};

}  // namespace incontext::examples
