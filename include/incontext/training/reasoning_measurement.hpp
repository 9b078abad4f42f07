#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "incontext/core/floating_point.hpp"

namespace incontext::training {

/// The state of a training on the reasoning task: means over all examples that are trained on, and over all that are
/// held out, whose standard error is that of examples drawn at random.
///
/// Shapes    entropy: of the class token's attention, one number per head, at most log 5.
/// Units     losses and entropies in nats; Frobenius norms of the mean loss's gradients.
struct ReasoningMeasurement {
  std::int64_t step = 0;
  double loss = 0, accuracy = 0;
  double held_out_loss = 0, held_out_standard_error = 0, held_out_accuracy = 0;
  std::vector<double> entropy = {};
  double query_gradient = 0, key_gradient = 0, value_gradient = 0;
};

/// The accuracy above which a run counts as having had its Eureka moment.
///
/// Source    arXiv 2310.12956, Section 3, "Metrics".
inline constexpr double eureka_accuracy = 0.7;

/// The first step at which the held-out accuracy is above eureka_accuracy; nothing if there is none.
///
/// Source    arXiv 2310.12956, Section 3, "Metrics".
/// Units     steps; the true step is between the measurement before and the one returned.
/// Domain    measurements in the order of their steps.
/// Limits    no measurement: nothing.
/// Accuracy  exact: tests/training/reasoning_measurement.cpp.
inline std::optional<std::int64_t> eureka_step(const std::vector<ReasoningMeasurement>& course) {
  for (const ReasoningMeasurement& at : course) {
    if (at.held_out_accuracy > eureka_accuracy) return at.step;
  }
  return {};
}

/// The loss at which a training stays longest before its Eureka moment: the mean loss of the two successive
/// measurements between which the loss falls least per step. Measurements with a loss above `largest_loss`, and those
/// after the Eureka moment, do not count.
///
/// Source    definition; arXiv 2310.12956 shows plateaus and gives no number.
/// Units     nats.
/// Domain    measurements in the order of their steps.
/// Limits    fewer than two measurements that count: nothing.
/// Accuracy  exact: tests/training/reasoning_measurement.cpp.
inline std::optional<double> plateau_loss(const std::vector<ReasoningMeasurement>& course, double largest_loss) {
  std::optional<double> loss;
  double slowest = 0;
  const ReasoningMeasurement* last = nullptr;
  for (const ReasoningMeasurement& at : course) {
    if (at.held_out_accuracy > eureka_accuracy) break;
    if (at.loss > largest_loss) continue;
    if (last != nullptr) {
      const double fall = (last->loss - at.loss) / static_cast<double>(at.step - last->step);
      if (!loss || fall < slowest) {
        slowest = fall;
        loss = (last->loss + at.loss) / 2;
      }
    }
    last = &at;
  }
  return loss;
}

}  // namespace incontext::training
