#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/classify/options.hpp"
#include "examples/support/table.hpp"

/// The rules the paper compares, and the parameters at which each of them errs least.
namespace incontext::examples::classify {

/// The rule as the tables name it.
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

/// Whether kappa is searched for on the side of selection or on that of elimination.
enum class Side { selection, elimination };

/// The best parameters but for those that are given; a gain without kappa is not 0, and the kernel rule's positive.
Chosen best_of(Simulator& simulator, const SphereTask& task, RuleChoice choice, std::optional<double> kappa = {},
               std::optional<double> gain = {}, Side side = Side::selection);

/// Standard errors of an optimum's logarithms, from searches on parts of as many contexts; absent where a part's optimum is
/// at an end of what was searched, or the run was stopped.
struct OptimumError {
  Cell kappa, gain;
};
OptimumError error_of_best(Simulator& simulator, const SphereTask& task, RuleChoice choice,
                           std::optional<double> kappa = {});

/// Numbers from low to high, evenly spaced in their logarithms.
std::vector<double> log_spaced(double low, double high, int count);

}  // namespace incontext::examples::classify
