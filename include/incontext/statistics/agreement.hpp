#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "incontext/core/contracts.hpp"
#include "incontext/core/floating_point.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::statistics {

/// A theory's value and a bound on its own error. It is made from a number, from {value, error}, or from a result with
/// members value and error_estimate, such as numerics::Quadrature.
///
/// Units     error in that of the value.
struct Theory {
  double value;
  double error = 0;

  Theory(double theory, double theory_error = 0) : value(theory), error(std::abs(theory_error)) {}
  template <class Result>
    requires requires(const Result& result) {
      static_cast<double>(result.value);
      static_cast<double>(result.error_estimate);
    }
  Theory(const Result& result)
      : Theory(static_cast<double>(result.value), static_cast<double>(result.error_estimate)) {}
};

/// What a simulation says about a theory.
enum class Verdict { agrees, disagrees, not_judged };

/// A theory beside the simulation that judges it.
///
/// \f[ z = \mathrm{sgn}(\bar x - \mathrm{theory})\, \frac{\max(|\bar x - \mathrm{theory}| - r, 0)}{\mathrm{se}},\quad
///     r = \mathrm{theory\ error} + \mathrm{rounding} \f]
///
/// A deviation of up to r can be due to the theory's error and the simulation's rounding. It is subtracted, so that the
/// p-value is valid for every r. Where r exceeds the standard error, the simulation cannot distinguish a correct theory
/// from one that is wrong by r: such a theory either disagrees or is not judged, for the stated `reason`.
///
/// Source    derived: docs/theory/statistics.md#agreement; its p-value is in holm.hpp.
/// Units     z and excess in standard errors; resolution relative to the theory.
/// Limits    a standard error of zero and r = 0: only the exact value agrees. A trial or a theory that is not finite,
///           or fewer than two trials: not judged.
/// Accuracy  tests/statistics/agreement.cpp.
struct Agreement {
  double theory = 0;
  double theory_error = 0;
  Estimate estimate;
  double excess = std::numeric_limits<double>::quiet_NaN();  ///< |z|, also where only a disagreement can be judged
  double z = std::numeric_limits<double>::quiet_NaN();       ///< NaN where the simulation cannot judge
  std::string reason = {};                                   ///< why it cannot judge; empty where it can

  /// The smallest relative deviation that would have been detected nine times in ten at this bound on |z|.
  [[nodiscard]] double resolution(double bound) const {
    constexpr double nine_in_ten = 1.2815515655446004;  // the standard normal quantile at 0.9
    const double seen = (bound + nine_in_ten) * estimate.standard_error;
    return (seen + theory_error + estimate.rounding) / std::abs(theory);
  }
  /// The verdict by a bound on |z|; verdict_if takes it from a test of a whole family that may have rejected this one.
  [[nodiscard]] Verdict verdict(double bound) const { return verdict_if(excess > bound); }
  [[nodiscard]] Verdict verdict_if(bool rejected) const {
    if (rejected) return Verdict::disagrees;
    return reason.empty() ? Verdict::agrees : Verdict::not_judged;
  }
  [[nodiscard]] bool within(double bound) const { return verdict(bound) == Verdict::agrees; }
};

namespace detail {

/// Why the theory cannot be tested; empty where it can.
inline std::string untestable_reason(const Theory& theory, const Estimate& estimate) {
  const auto finite = [](double value) { return std::abs(value) <= (std::numeric_limits<double>::max)(); };
  if (!finite(theory.value) || !finite(theory.error)) return "the theory is not a finite number";
  if (estimate.non_finite > 0) {
    return std::to_string(estimate.non_finite) + " of " + std::to_string(estimate.count + estimate.non_finite) +
           " trials " + (estimate.non_finite == 1 ? "was" : "were") + " not finite";
  }
  if (estimate.count < 2) return "fewer than two trials were run";
  if (!finite(estimate.mean)) return "the mean of the trials is not finite";
  if (!finite(estimate.standard_error)) return "the standard error of the trials is not finite";
  return {};
}

/// Why the simulation cannot judge the theory; empty where it can. Of the two limits, one that is less than a hundredth
/// of their sum is not mentioned.
inline std::string unresolved_reason(const Theory& theory, const Estimate& estimate) {
  const double limit = theory.error + estimate.rounding;
  if (limit <= estimate.standard_error) return {};
  const bool by_rounding = estimate.rounding > 0.01 * limit, by_theory = theory.error > 0.01 * limit;
  std::string reason = "standard error " + short_text(estimate.standard_error, 2) + " is below ";
  if (by_rounding) reason += "the rounding of the simulation, " + short_text(estimate.rounding, 2);
  if (by_rounding && by_theory) reason += ", and ";
  if (by_theory) reason += "the error of the theory, " + short_text(theory.error, 2);
  return reason;
}

}  // namespace detail

/// Compares a theory with an estimate.
///
///     const auto verdict = statistics::agree({theory, theory_error}, estimate).verdict(5.0);
///
/// Source    as Agreement.
inline Agreement agree(const Theory& theory, const Estimate& estimate) {
  Agreement result{theory.value, theory.error, estimate};
  result.reason = detail::untestable_reason(theory, estimate);
  if (!result.reason.empty()) return result;
  const double difference = estimate.mean - theory.value;
  const double beyond = (std::max)(std::abs(difference) - theory.error - estimate.rounding, 0.0);
  result.excess = beyond == 0 ? 0 : beyond / estimate.standard_error;
  result.reason = detail::unresolved_reason(theory, estimate);
  if (result.reason.empty()) result.z = result.excess == 0 ? 0 : std::copysign(result.excess, difference);
  return result;
}

}  // namespace incontext::statistics
