#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/relations.hpp"

/// A theory beside a simulation, as a member of the family of a run, with the reason wherever it cannot be judged.
namespace incontext::statistics {

/// With fewer values than this, such as runs of training, the standard error of their mean is hardly known: a bound by
/// Student's t would call any mean an agreement.
inline constexpr std::int64_t fewest_values = 5;

/// With fewer trials than this, a disagreement is not judged: the mean of a skewed quantity may not be normal.
inline constexpr std::int64_t fewest_trials = 1000;

/// A member of a family: a theory beside a simulation. Without `is_tested` it is shown with the agreement's reason, and
/// the family is smaller by it. `trials` counts the trials that the estimate's values are means of.
struct Comparison {
  Agreement agreement;
  std::int64_t trials = 0;
  bool is_tested = true;
  Verdict verdict = Verdict::not_judged;  ///< by judge of family_verdict.hpp
};

/// A comparison that is not to be judged, for a reason that is not in its numbers.
///
/// Source    docs/theory/statistics.md#comparisons.
inline Comparison untested(const Theory& theory, const Estimate& estimate, std::string reason) {
  Comparison comparison{
      .agreement = agree(theory, estimate), .trials = estimate.count + estimate.non_finite, .is_tested = false};
  comparison.agreement.reason = std::move(reason);
  return comparison;
}

/// A theory, or with a relation a bound, beside a simulation. Without `trials` every value of the estimate is a trial. A
/// mean of no trial, or of two to four values, is not judged.
///
///     std::vector<statistics::Comparison> run{statistics::compare(theory, estimate)};
///     statistics::judge(run, 1e-3);
///
/// Source    docs/theory/statistics.md#comparisons.
/// Errors    as agree.
/// Accuracy  tests/statistics/family_verdict.cpp.
inline Comparison compare(const Theory& theory, const Estimate& estimate, std::optional<std::int64_t> trials = {},
                          Relation relation = Relation::equals) {
  if (estimate.count + estimate.non_finite == 0) {
    return untested(theory, estimate, "not reached: the run was stopped early");
  }
  if (2 <= estimate.count && estimate.count < fewest_values) {
    return untested(theory, estimate,
                    "the error of a mean of " + std::to_string(estimate.count) + " values is hardly known: at least " +
                        std::to_string(fewest_values));
  }
  return {.agreement = agree(theory, relation, estimate),
          .trials = trials.value_or(estimate.count + estimate.non_finite)};
}

/// The claim that a mean is within a tolerance of a value, and no more. It agrees if it is, and is not judged if four
/// standard errors are more than the tolerance: then the simulation cannot tell a deviation as large as that.
///
/// Source    derived: docs/theory/statistics.md#comparisons.
/// Accuracy  tests/statistics/family_verdict.cpp.
inline Comparison compare_within(double value, double tolerance, const Estimate& estimate) {
  if (estimate.count + estimate.non_finite == 0) return compare(value, estimate);
  Agreement agreement = agree(Theory(value, tolerance), estimate);
  constexpr double told_apart = 4;  // standard errors
  if (!(told_apart * estimate.standard_error <= tolerance)) {
    agreement.reason = "standard error " + short_text(estimate.standard_error, 2) +
                       " cannot tell a deviation of the tolerance, " + short_text(tolerance, 2) + ": more trials";
  } else if (std::isfinite(agreement.excess)) {
    agreement.reason.clear();
    agreement.z = std::copysign(agreement.excess, estimate.mean - value);
  }
  return {.agreement = std::move(agreement), .trials = estimate.count + estimate.non_finite};
}

/// What judge of family_verdict.hpp finds in a family; `farthest` and `coarsest` are indices of comparisons.
///
/// Units     bound in standard errors; median_resolution relative to the theory, NaN where no judged member has one.
struct FamilyVerdict {
  std::size_t tested = 0;                    ///< members of the family
  std::size_t judged = 0;                    ///< that agree or disagree
  std::size_t disagreements = 0;             ///< of these
  double bound = 0;                          ///< on |z|, at Holm's first step
  std::optional<std::size_t> farthest = {};  ///< the judged one with the largest |z|
  std::optional<std::size_t> coarsest = {};  ///< the judged one with the worst resolution
  double median_resolution = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace incontext::statistics
