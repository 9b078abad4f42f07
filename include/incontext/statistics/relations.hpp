#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/estimate.hpp"

/// Equalities and bounds: of computed numbers, which need no simulation, and of a simulated mean.
namespace incontext::statistics {

/// What is said of a value and a theory. `differs` is a negative control: the theory is known to be wrong.
enum class Relation { equals, differs, at_most, at_least };

/// How far a computed number is beyond a relation to a theory, relative to the theory; negative where the relation holds
/// by more than it needs to. It compares cases of one relation: the largest came closest to breaking it.
///
/// \f[ e_{=} = \frac{|c - t|}{|t|},\quad e_{\ne} = 10^{-3} - \frac{|c - t|}{|t|},\quad e_{\le} = \frac{c - t}{|t|},\quad
///     e_{\ge} = \frac{t - c}{|t|} \f]
///
/// c is `computed` and t is `theory`.
///
/// Source    derived: docs/theory/statistics.md#relations.
/// Limits    c = t: 0 for =, <= and >=, also at t = 0; else t = 0 counts as the least normal number in a bound, and no
///           other number equals it. NaN in either: infinity.
inline double relation_excess(Relation relation, double computed, double theory) {
  constexpr double least_difference = 1e-3;
  const double least = (std::numeric_limits<double>::min)();
  double excess = 0;
  if (relation == Relation::differs) {
    excess = least_difference - std::abs(computed - theory) / std::abs(theory);
  } else if (computed != theory) {
    const double off = relation == Relation::at_least ? theory - computed : computed - theory;
    excess =
        relation == Relation::equals ? std::abs(off) / std::abs(theory) : off / (std::max)(std::abs(theory), least);
  }
  return std::isnan(excess) ? std::numeric_limits<double>::infinity() : excess;
}

/// The excess that rounding explains: 1e-9 of an equality, 1e-12 of a bound that is attained, 0 of a difference.
///
/// Source    derived: docs/theory/statistics.md#relations.
inline double relation_allowance(Relation relation) {
  return relation == Relation::equals ? 1e-9 : relation == Relation::differs ? 0 : 1e-12;
}

/// Whether computed numbers are in a relation, up to rounding.
///
/// Source    as relation_excess.
/// Accuracy  tests/statistics/relations.cpp.
inline bool relation_holds(Relation relation, double computed, double theory) {
  return relation_excess(relation, computed, theory) <= relation_allowance(relation);
}

/// Compares a theory that is a bound with an estimate: a mean on the allowed side agrees, with z = 0, and beyond the bound z
/// is the distance from it. For `equals` it is agree(theory, estimate).
///
/// Source    derived: docs/theory/statistics.md#relations; the two-sided p-value of this z is valid for a bound.
/// Errors    std::invalid_argument for `differs`, which no simulation confirms.
/// Accuracy  tests/statistics/relations.cpp.
inline Agreement agree(const Theory& theory, Relation relation, const Estimate& estimate) {
  if (relation == Relation::differs) {
    throw_invalid_argument("statistics::agree", "relation is no equality and no bound", "differs",
                           "equals, at_most or at_least");
  }
  Agreement agreement = agree(theory, estimate);
  const bool can_be_judged = agreement.excess >= 0;
  const bool is_within = (relation == Relation::at_most && estimate.mean <= theory.value) ||
                         (relation == Relation::at_least && estimate.mean >= theory.value);
  if (can_be_judged && is_within) agreement.excess = agreement.z = 0;
  return agreement;
}

}  // namespace incontext::statistics
