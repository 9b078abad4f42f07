#pragma once

#include <incontext/classification/context.hpp>
#include <incontext/simulate/classification/classification_grid_types.hpp>
#include <incontext/simulate/classification/classification_types.hpp>

#include <optional>
#include <vector>

/// Where the programs search for the best parameters of the rules of classification in context.
namespace incontext::examples {

/// Numbers from low to high, evenly spaced in their logarithms.
std::vector<double> log_spaced(double low, double high, int count);

/// The linear rule's best learning rate for k classes, predicted from the boundary layer between two classes.
double predicted_rate(const simulate::SphereTask& task);

/// Whether kappa is searched among positive numbers (selection) or negative ones (elimination).
enum class Side { selection, elimination };

/// The parameters of a rule that are given; the others are searched for.
struct GivenParameters {
  std::optional<double> kappa = {};
  std::optional<double> gain = {};
};

/// The grid on which the best parameters of a rule are searched. Its gains surround the linear rule's predicted best
/// rate divided by kappa.
simulate::ClassificationGrid search_grid(const simulate::SphereTask& task, simulate::ClassificationRule rule,
                                         const GivenParameters& given = {}, Side side = Side::selection);

/// A drawn context as the closed forms take it.
classification::Context<double> context_of(const simulate::SphereContext<double>& drawn,
                                           const simulate::SphereTask& task);

}  // namespace incontext::examples
