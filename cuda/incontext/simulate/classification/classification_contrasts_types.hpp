#pragma once

#include <cstddef>
#include <cstdint>

#include "incontext/simulate/classification/classifiers_types.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Classifiers compared on common contexts.
namespace incontext::simulate {

/// Indices of two classifiers of a list.
///
/// Runs on   host and device
struct IndexPair {
  std::int32_t first;
  std::int32_t second;
};

/// Estimates of every metric of every classifier, and of how much the first of a pair exceeds the second: common
/// contexts make the errors of these differences small.
///
/// Units     as ClassificationMetric.
struct ClassificationContrasts {
  Simulation run;
  std::size_t classifiers = 0;

  [[nodiscard]] const statistics::Estimate& at(std::size_t point, ClassificationMetric metric) const {
    return run.estimates.at(point * detail::classification_metrics + static_cast<std::size_t>(metric));
  }
  [[nodiscard]] const statistics::Estimate& loss_difference(std::size_t pair) const {
    return run.estimates.at(classifiers * detail::classification_metrics + 2 * pair);
  }
  [[nodiscard]] const statistics::Estimate& accuracy_difference(std::size_t pair) const {
    return run.estimates.at(classifiers * detail::classification_metrics + 2 * pair + 1);
  }
};

}  // namespace incontext::simulate
