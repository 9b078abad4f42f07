#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// A grid of classifiers, its losses, and the best classifier that a search about it finds.
namespace incontext::simulate {

/// What the numbers of a grid's second axis are: the gain itself; or slope = gain times kappa, in which selection
/// (kappa > 0) and elimination (kappa < 0) meet at kappa = 0, the linear rule.
///
/// Source    derived: docs/theory/classification.md#linear-limit; kappa -> 0 at fixed slope.
enum class GridChart { gain, slope };

/// A grid of one rule. The linear rule has one row, whatever its kappas.
///
/// Domain    kappas and gains ascending, gains > 0, they and the classifiers' gains finite as the scalar of the run;
///           kappas x gains <= 1e6; chart slope: adaptive rules; chart gain: kernel, or adaptive rules; kappas < 0 with
///           chart gain mean elimination, at the negative of the gain.
struct ClassificationGrid {
  ClassificationRule rule = ClassificationRule::linear;
  std::vector<double> kappas = {0};
  std::vector<double> gains = {};
  GridChart chart = GridChart::gain;

  /// The classifier at a point of the chart.
  [[nodiscard]] Classifier classifier(double kappa, double gain) const {
    if (rule == ClassificationRule::linear) return {rule, 0, gain};
    if (chart == GridChart::slope && kappa == 0) return {ClassificationRule::linear, 0, gain};
    if (chart == GridChart::slope) return {rule, kappa, gain / kappa};
    return {rule, kappa, kappa < 0 ? -gain : gain};
  }
};

/// The value of `reference` for a grid without a reference.
inline constexpr std::int64_t no_reference = -1;

/// Losses and accuracies over a grid, all on the same contexts.
///
/// Shapes    loss: kappas x gains; accuracy: kappas, since it does not depend on a positive gain.
/// Units     nats.
struct ClassificationGridSimulation {
  Simulation run;
  std::size_t kappas = 0;
  std::size_t gains = 0;

  [[nodiscard]] const statistics::Estimate& loss(std::size_t kappa, std::size_t gain) const {
    return run.estimates.at(kappa * gains + gain);
  }
  [[nodiscard]] const statistics::Estimate& accuracy(std::size_t kappa) const {
    return run.estimates.at(kappas * gains + kappa);
  }
  /// With a reference: the loss minus that of the reference. Common contexts make the error of this difference small.
  [[nodiscard]] const statistics::Estimate& loss_difference(std::size_t kappa, std::size_t gain) const {
    return run.estimates.at(kappas * gains + kappas + kappa * gains + gain);
  }
};

/// Where on its axis of the grid an optimum is: between the ends; at one end, beyond which the loss may still fall; or
/// on an axis with one number only.
enum class AxisPlace { inside, lowest, highest, fixed };

/// Why a search stopped: its steps are below the tolerance; its neighbors' losses are within one standard error of
/// their paired differences; or it used up its zooms.
enum class SearchEnd { step, noise, zooms };

/// The best classifier found. A best point at the end of an axis is not an optimum. In high dimension the loss of
/// adaptive rules may fall along c kappa = const to kappa -> 0 and c -> infinity, and then both places are ends.
///
/// Units     loss in nats.
struct ClassificationOptimum {
  Classifier best;
  double chart_gain = 0;  ///< the number on the grid's second axis: best.gain, or its slope
  statistics::Estimate loss;
  statistics::Estimate accuracy;
  AxisPlace kappa_place = AxisPlace::fixed;
  AxisPlace gain_place = AxisPlace::fixed;
  double kappa_step = 0;  ///< distance to the last neighbors tried
  double gain_step = 0;
  SearchEnd end = SearchEnd::step;
  int zooms = 0;
  Simulation grid;  ///< the first pass over the whole grid, as classification_grid gives it

  [[nodiscard]] bool is_inside() const {
    const auto fine = [](AxisPlace place) { return place == AxisPlace::inside || place == AxisPlace::fixed; };
    return fine(kappa_place) && fine(gain_place);
  }
};

}  // namespace incontext::simulate
