#pragma once

#include <cstddef>

#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// What a simulation of attention over literal tokens measures.
namespace incontext::simulate {

/// What a trial measures of one prediction: -log p_y; whether y has the largest logit (the first of equals counts);
/// -sum p log p; p_y; the margin, that is the logit of y less the mean of the others; and its square.
///
/// Units     nats, for the square their square.
/// Runs on   host and device
enum class ContextAttentionMetric { loss, accuracy, entropy, probability, margin, squared_margin };

namespace detail {

inline constexpr int context_attention_metrics = 6;

}  // namespace detail

/// Estimates of every metric.
///
/// Units     as ContextAttentionMetric.
struct ContextAttentionSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(ContextAttentionMetric metric) const {
    return run.estimates.at(static_cast<std::size_t>(metric));
  }
};

}  // namespace incontext::simulate
