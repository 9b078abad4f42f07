#pragma once

#include <incontext/core/host_device.hpp>
#include <incontext/scoring/approximate_softmax.hpp>
#include <incontext/scoring/linear_attention.hpp>
#include <incontext/scoring/softmax.hpp>

#include "examples/train/regression_runs.hpp"

namespace incontext::examples::train {

/// A layer's map, of temperature 1, which is chosen at run time, so that a trial is compiled once for all maps.
///
/// Runs on   host and device
struct TrainedMap {
  using value_type = float;
  RegressionMap map;
};

/// Calls visit with the map that is chosen.
template <class Visit>
INCONTEXT_HD void visit_map(const TrainedMap& chosen, const Visit& visit) {
  switch (chosen.map) {
    case RegressionMap::linear:
      return visit(scoring::LinearAttention<float>{1});
    case RegressionMap::approximate:
      return visit(scoring::ApproximateSoftmax<float>{1});
    default:
      return visit(scoring::Softmax<float>{1});
  }
}

INCONTEXT_HD inline void weights(const TrainedMap& chosen, scoring::Row<const float> scores, scoring::Row<float> out) {
  visit_map(chosen, [&](const auto& map) { weights(map, scores, out); });
}

INCONTEXT_HD inline void vjp(const TrainedMap& chosen, scoring::Row<const float> scores,
                             scoring::Row<const float> cotangent, scoring::Row<float> out) {
  visit_map(chosen, [&](const auto& map) { vjp(map, scores, cotangent, out); });
}

}  // namespace incontext::examples::train
