#pragma once

#include <cstddef>

#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// What a simulation of the first step away from the linear rule gives.
namespace incontext::simulate {

/// What a trial measures of the linear rule at a learning rate: its loss; the derivative of that by the logarithm of
/// the rate; and by kappa, where the adaptive rule with the gain rate/kappa, the query no key, leaves the linear rule
/// at kappa = 0.
///
/// Units     nats.
/// Runs on   host and device
enum class AdaptiveOnsetMetric { loss, rate_slope, kappa_slope };

namespace detail {

inline constexpr int adaptive_onset_metrics = 3;

}  // namespace detail

/// Estimates of every metric at every rate, all on the same contexts.
///
/// Units     as AdaptiveOnsetMetric.
struct AdaptiveOnsetSimulation {
  Simulation run;

  [[nodiscard]] const statistics::Estimate& at(std::size_t rate, AdaptiveOnsetMetric metric) const {
    return run.estimates.at(rate * detail::adaptive_onset_metrics + static_cast<std::size_t>(metric));
  }
};

}  // namespace incontext::simulate
