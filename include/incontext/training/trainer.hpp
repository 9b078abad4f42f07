#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/training/adam.hpp"
#include "incontext/training/learning_rate.hpp"

/// The loop of training: gradient after gradient, by Adam. It knows nothing of the model.
namespace incontext::training {

/// What a model says of its parameters at one step: the loss of the step's batch, its standard error (0 where the loss
/// is exact), the accuracy (NaN where there is none), and the gradient of the loss.
///
/// Shapes    gradient: one number per parameter.
struct BatchGradient {
  double loss = 0;
  double loss_standard_error = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> gradient;
};

/// The loss and gradient of a model at given parameters, for the batch of a step. A gradient of size 0 says that the
/// batch was cut short by a stop request.
using GradientFunction = std::function<BatchGradient(std::span<const double> parameters, std::int64_t step)>;

/// How to train.
///
/// Domain    as AdamOptions and LearningRate; largest_gradient_norm > 0, largest_loss_growth > 1.
struct TrainerOptions {
  AdamOptions adam = {};
  LearningRate rate = {};
  double largest_gradient_norm = std::numeric_limits<double>::infinity();
  /// Training has diverged where the loss is more than this many times that of its first step. A clipped gradient
  /// stays finite at any learning rate.
  double largest_loss_growth = std::numeric_limits<double>::infinity();
};

/// What one step did.
///
/// Units     loss of the model; gradient_norm before clipping.
struct StepRecord {
  std::int64_t step = 0;  ///< from 0
  double loss = 0;
  double loss_standard_error = 0;
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double gradient_norm = 0;
  double rate = 0;
};

/// All that a run needs to go on as if it had never stopped.
struct TrainingState {
  std::vector<double> parameters = {};
  AdamState adam = {};
  double first_loss = std::numeric_limits<double>::quiet_NaN();  ///< size of the first batch's; NaN before it
};

/// Trains a model by Adam. A state continues to the same bits, whether or not it was saved and loaded in between.
///
///     const training::GradientFunction parabola = [](std::span<const double> at, std::int64_t) {
///       return training::BatchGradient{.loss = at[0] * at[0], .gradient = {2 * at[0]}};
///     };
///     training::Trainer trainer({1.0}, parabola, {.rate = {.peak = 1e-2}});
///     while (trainer.steps() < 1000) trainer.step();
///
/// Source    Kingma and Ba 2015; clipping after Pascanu, Mikolov and Bengio 2013.
/// Shapes    `decays`: for which parameters weight decay acts; empty: for all.
/// Errors    std::invalid_argument and std::domain_error for options; std::domain_error, with the step and the norm, if
///           the loss or the gradient is not finite, or the loss exceeds what the options allow.
class Trainer {
 public:
  Trainer(std::vector<double> parameters, GradientFunction gradient, TrainerOptions options,
          std::vector<bool> decays = {})
      : state_{.parameters = std::move(parameters)},
        gradient_(std::move(gradient)),
        options_(options),
        decays_(std::move(decays)) {
    validate(options_.adam);
    validate(options_.rate);
    if (!(options_.largest_gradient_norm > 0)) {
      throw_domain_error("training::Trainer", "largest_gradient_norm is not positive", options_.largest_gradient_norm,
                         "more than 0");
    }
    if (!(options_.largest_loss_growth > 1)) {
      throw_domain_error("training::Trainer", "largest_loss_growth is not more than 1", options_.largest_loss_growth,
                         "more than 1");
    }
    if (state_.parameters.empty()) throw_invalid_argument("training::Trainer", "parameters is empty", 0, "numbers");
  }

  /// The number of steps done.
  [[nodiscard]] std::int64_t steps() const { return state_.adam.steps; }
  [[nodiscard]] const std::vector<double>& parameters() const { return state_.parameters; }
  [[nodiscard]] const TrainingState& state() const { return state_; }
  [[nodiscard]] const TrainerOptions& options() const { return options_; }

  /// Goes on from a state, which must be one of this model.
  void resume(TrainingState state) {
    constexpr std::string_view where = "training::Trainer::resume";
    require_same_size(where, "parameters", std::ssize(state.parameters), std::ssize(state_.parameters));
    if (state.adam.steps > 0) {
      require_same_size(where, "adam.first", std::ssize(state.adam.first), std::ssize(state_.parameters));
      require_same_size(where, "adam.second", std::ssize(state.adam.second), std::ssize(state_.parameters));
    }
    state_ = std::move(state);
  }

  /// Does one step. Returns false, and changes nothing, if a stop request cut the batch short.
  bool step(StepRecord* record = nullptr) {
    const std::int64_t at = steps();
    BatchGradient batch = gradient_(state_.parameters, at);
    if (batch.gradient.empty()) return false;
    const double norm = clip_by_global_norm(batch.gradient, options_.largest_gradient_norm);
    if (std::isnan(state_.first_loss)) state_.first_loss = std::abs(batch.loss);
    if (!std::isfinite(batch.loss) || !std::isfinite(norm) ||
        batch.loss > options_.largest_loss_growth * state_.first_loss) {
      throw_domain_error("training::Trainer",
                         "training diverged: at step " + std::to_string(at) + " the loss is " +
                             short_text(batch.loss, 6) + ", at the first " + short_text(state_.first_loss, 6) +
                             ", and the norm of the gradient",
                         norm, "a smaller learning rate, or a smaller largest_gradient_norm");
    }
    const double rate = options_.rate(at);
    adam_step(options_.adam, rate, batch.gradient, state_.adam, state_.parameters, decays_);
    if (record != nullptr) {
      *record = {at, batch.loss, batch.loss_standard_error, batch.accuracy, norm, rate};
    }
    return true;
  }

 private:
  TrainingState state_;
  GradientFunction gradient_;
  TrainerOptions options_;
  std::vector<bool> decays_;
};

}  // namespace incontext::training
