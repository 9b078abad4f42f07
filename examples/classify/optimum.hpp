#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/classify/options.hpp"
#include "examples/support/classification_rules.hpp"
#include "examples/support/table.hpp"

/// The rules that the paper compares, and the parameters at which the loss of each is least.
namespace incontext::examples::classify {

/// The name of the rule in the tables.
std::string name_of(RuleChoice choice);

/// What simulates it, and whether that is softmax attention.
ClassificationRule rule_of(RuleChoice choice);
bool is_softmax(RuleChoice choice);

/// All five, in the paper's order.
std::vector<RuleChoice> all_rules();

/// A rule with its parameters, and where the search for them ended.
struct Chosen {
  RuleChoice choice;
  Classifier classifier;
  std::string edge;  ///< which end of the searched range was best; empty inside
  bool searched;
  bool reached = true;  ///< false if the run was stopped before the search ended

  Cell kappa() const;  ///< absent for the linear rule
  Cell gain() const;
};

/// A rule with given parameters, without a search.
Chosen given(RuleChoice choice, const Classifier& classifier);

/// Searches for the best parameters, except for those that are given. A gain that is given without kappa must not be 0,
/// and must be positive for the kernel rule.
Chosen best_of(Simulator& simulator, const SphereTask& task, RuleChoice choice, std::optional<double> kappa = {},
               std::optional<double> gain = {}, Side side = Side::selection);

/// Standard errors of an optimum's logarithms, from searches on parts of as many contexts; absent where a part's optimum is
/// at an end of what was searched, or the run was stopped.
struct OptimumError {
  Cell kappa, gain;
};
OptimumError error_of_best(Simulator& simulator, const SphereTask& task, RuleChoice choice,
                           std::optional<double> kappa = {});

}  // namespace incontext::examples::classify
