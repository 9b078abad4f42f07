#pragma once

#include <incontext/simulate/classification/classification_types.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>

/// Runs of training on shared prototypes, as plain data.
namespace incontext::examples::train {

/// One training of softmax attention with a perceptron behind it. Adam at a constant rate.
struct TransienceRun {
  simulate::SphereTask task;      ///< its prototype_sets are those that the contexts share; 0: none
  std::int64_t hidden_ratio = 8;  ///< the width of the perceptron in units of dimension + classes
  std::int64_t batch = 32;
  std::int64_t steps = 2500;
  std::int64_t measurements = 10;
  std::int64_t tested = 1024;  ///< contexts per measurement
  double rate = 0.01;
  std::uint64_t seed = 1;
};

/// Loss and accuracy on held-out contexts.
struct ContextScore {
  statistics::Estimate loss, accuracy;
};

/// How far a training is after some steps. `fresh` and `chosen_by` are two samples of contexts with prototypes of their
/// own, which only the context tells; `shared` are held-out contexts with the shared prototypes, which can also be known
/// by heart.
struct TransiencePoint {
  std::int64_t step = 0;
  ContextScore fresh = {}, chosen_by = {}, shared = {};
};

}  // namespace incontext::examples::train
