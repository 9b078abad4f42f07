#pragma once

#include "incontext/training/trainer.hpp"
#include "records.hpp"

INCONTEXT_RECORD(incontext::training::AdamOptions, "training", "AdamOptions", beta1, beta2, epsilon, weight_decay)
INCONTEXT_CHOICE(incontext::training::RateDecay, "training", "RateDecay")
INCONTEXT_RECORD(incontext::training::LearningRate, "training", "LearningRate", peak, warmup_steps, decay, steps,
                 final_share)
INCONTEXT_RECORD(incontext::training::TrainerOptions, "training", "TrainerOptions", adam, rate, largest_gradient_norm)
INCONTEXT_RECORD(incontext::training::StepRecord, "training", "StepRecord", step, loss, loss_standard_error, accuracy,
                 gradient_norm, rate)

/// Parameters and gradients as arrays.
namespace incontext::python {

using Numbers = Eigen::VectorXd;

inline std::vector<double> plain(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

inline Numbers array(std::span<const double> numbers) {
  return Eigen::Map<const Numbers>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

}  // namespace incontext::python
