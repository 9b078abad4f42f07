#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/statistics/estimate.hpp"

/// Statements that are wrong where they are tried, which a simulation must reject.
namespace incontext::statistics {

/// What a simulation makes of a statement that is known to be wrong.
enum class ControlOutcome {
  rejected,     ///< as it should be
  passed,       ///< although the simulation could tell: then its agreements mean nothing
  cannot_tell,  ///< the wrong value is too near to the right one for this number of trials
  not_reached,  ///< fewer than two trials
};

/// A wrong statement beside a simulation.
///
/// \f[ z = (\bar x - \mathrm{claimed}) / \mathrm{se} \f]
///
/// Source    derived: docs/theory/statistics.md#controls.
/// Units     z in standard errors.
struct Control {
  double z = std::numeric_limits<double>::quiet_NaN();
  ControlOutcome outcome = ControlOutcome::not_reached;
};

/// Tries a wrong value on the simulation of a quantity whose exact value is known: a negative control, such as a limit
/// taken at finite length, or a formula without one of its terms.
///
///     const auto control = statistics::try_control(1.1 * theory, theory, estimate);   // control.outcome
///
/// It is rejected if |z| > 5. If not, the simulation could tell where the exact value is more than 10 standard errors from
/// the claimed one and at least `trials_to_tell` were run, which is for the caller to raise for a skewed quantity, whose mean of few
/// trials is not normal. Where
/// there is no exact value, NaN, it cannot tell.
///
/// Source    derived: docs/theory/statistics.md#controls.
/// Limits    a standard error of 0: every other value is rejected. A z that is NaN rejects nothing.
/// Accuracy  tests/statistics/controls.cpp, with the rate at which a telling control passes.
inline Control try_control(double claimed, double exact, const Estimate& estimate, std::int64_t trials_to_tell = 2) {
  constexpr double rejected_beyond = 5, telling_beyond = 10;
  if (estimate.count < 2) return {};
  Control control{.z = (estimate.mean - claimed) / estimate.standard_error, .outcome = ControlOutcome::rejected};
  if (std::abs(control.z) > rejected_beyond) return control;
  const bool can_tell =
      estimate.count >= trials_to_tell && std::abs(exact - claimed) > telling_beyond * estimate.standard_error;
  control.outcome = can_tell ? ControlOutcome::passed : ControlOutcome::cannot_tell;
  return control;
}

}  // namespace incontext::statistics
