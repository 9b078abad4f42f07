#pragma once

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/agreement.hpp"

/// How far a theory is from a measurement, how far it may be in truth, and how far it would have had to be to be
/// noticed.
namespace incontext::statistics {

/// The deviation of a measurement from a theory, and what the measurement could have told.
///
/// Units     relative to the size of the theory; where the theory is 0, in the measured unit. NaN where nothing could
///           be compared.
struct Effect {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  double deviation = unknown;        ///< measured minus predicted
  double deviation_error = unknown;  ///< its standard error
  double within = unknown;           ///< a bound on the size of the true deviation, wrong with probability level
  double resolution = unknown;       ///< a true deviation of this size would have been noticed nine times in ten
};

/// A theory is not called right by a measurement that could not tell it from one that is wrong by half of its value.
inline constexpr double coarsest_resolution = 0.5;

/// The effect that is seen in an agreement when deviations are rejected with a false-alarm rate of `level`.
///
/// \f[ d = \frac{\bar x - \mathrm{theory}}{s},\qquad w = |d| + \frac{c\,\mathrm{se} + r}{s},\qquad
///     \delta = \frac{(c + c_{0.9})\,\mathrm{se} + r}{s},\qquad c = t_{1 - \mathrm{level}/2},\ c_{0.9} = t_{0.9} \f]
///
/// d is the deviation, w is `within`, and delta is the resolution. The scale s is |theory|, or 1 where it is 0; t_q is
/// the quantile of Student's law with n - 1 degrees of freedom; r is the theory's own error plus the rounding of the
/// simulation. The interval of w covers the true deviation exactly where the test does not reject it. The resolution is
/// the usual minimum detectable effect.
///
///     const auto effect = statistics::effect_of(statistics::agree(1.0, estimate), 1e-3);
///
/// Source    Bloom, Evaluation Review 19 (1995) 547 for the minimum detectable effect; derived:
///           docs/theory/statistics.md#effect.
/// Domain    0 < level < 1.
/// Limits    two values: one degree of freedom, so that the resolution is hundreds of standard errors.
/// Errors    std::domain_error for level outside the domain.
/// Accuracy  coverage and power by simulation: tests/statistics/effect.cpp.
inline Effect effect_of(const Agreement& agreement, double level) {
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::effect_of", "level is not a probability", level, "0 < level < 1");
  }
  Effect effect;
  const Estimate& estimate = agreement.estimate;
  if (!(agreement.excess >= 0) || estimate.count < 2) return effect;
  const double scale = agreement.theory == 0 ? 1 : std::abs(agreement.theory);
  const double limit = agreement.theory_error + estimate.rounding;
  const boost::math::students_t law(static_cast<double>(estimate.count - 1));
  const double bound = boost::math::quantile(boost::math::complement(law, level / 2));
  constexpr double nine_in_ten = 0.9;
  const double power = boost::math::quantile(law, nine_in_ten);
  effect.deviation = (estimate.mean - agreement.theory) / scale;
  effect.deviation_error = estimate.standard_error / scale;
  effect.within = std::abs(effect.deviation) + (bound * estimate.standard_error + limit) / scale;
  effect.resolution = ((bound + power) * estimate.standard_error + limit) / scale;
  return effect;
}

/// Whether an effect is known well enough to speak of an agreement: neither its bound nor its resolution is above
/// coarsest_resolution.
///
/// Source    as coarsest_resolution.
inline bool is_resolved(const Effect& effect) {
  return effect.within <= coarsest_resolution && effect.resolution <= coarsest_resolution;
}

/// The verdict on an agreement with its resolution: one that was not rejected agrees only if its effect is resolved.
///
/// Source    derived: docs/theory/statistics.md#effect.
inline Verdict resolved_verdict(const Agreement& agreement, const Effect& effect, bool rejected) {
  const Verdict verdict = agreement.verdict_if(rejected);
  return verdict == Verdict::agrees && !is_resolved(effect) ? Verdict::not_judged : verdict;
}

/// A share in percent, to be put into a sentence: two significant digits, or from 99.5% to a million percent a whole
/// number.
///
/// Units     share: 1 is 100%.
/// Domain    share >= 0.
/// Limits    NaN and infinity: "nan%" and "inf%".
inline std::string percent_text(double share) {
  const double percent = 100 * share;
  const bool whole = percent >= 99.5 && percent < 1e6;
  return short_text(whole ? std::round(percent) : percent, whole ? 7 : 2) + "%";
}

/// The verdict in words: "agrees within 8% (would have noticed 12%)", "wrong by 106%", "not rejected, would not have
/// noticed 79%: too few rows", or "not judged: " with the agreement's reason.
///
/// `rows` is what there are too few of.
///
/// Source    derived: docs/theory/statistics.md#effect.
/// Accuracy  tests/statistics/effect.cpp.
inline std::string conclusion(const Agreement& agreement, const Effect& effect, Verdict verdict,
                              const std::string& rows = "trials") {
  const auto text = [&](double deviation) {  // of a theory of 0, the deviation itself
    return agreement.theory == 0 ? short_text(std::abs(deviation), 2) : percent_text(std::abs(deviation));
  };
  if (verdict == Verdict::disagrees) return "wrong by " + text(effect.deviation);
  if (verdict == Verdict::agrees) {
    return "agrees within " + text(effect.within) + " (would have noticed " + text(effect.resolution) + ")";
  }
  if (!agreement.reason.empty()) return "not judged: " + agreement.reason;
  if (!(effect.resolution >= 0)) return "not judged";
  if (effect.resolution <= coarsest_resolution) {
    return "not rejected, may be wrong by " + text(effect.within) + ": too few " + rows;
  }
  return "not rejected, would not have noticed " + text(effect.resolution) + ": too few " + rows;
}

}  // namespace incontext::statistics
