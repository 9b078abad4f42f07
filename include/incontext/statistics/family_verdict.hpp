#pragma once

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/comparison.hpp"
#include "incontext/statistics/holm.hpp"

/// All comparisons of a run, judged as one family.
namespace incontext::statistics {

/// The bound on |z| of a family's first step, by the tails of Student's t where the error of a member is known from few
/// values only: family_wise_bound, if all have many.
///
/// \f[ P(|T_{n-1}| > \mathrm{bound}) = \alpha / m,\quad n = \min_i n_i \f]
///
/// alpha is the level, m the number of tested members, n_i the number of values behind member i.
///
/// Source    derived: docs/theory/statistics.md#comparisons.
/// Errors    std::domain_error for a level that is no probability.
inline double family_bound(const std::vector<Comparison>& family, double level) {
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::family_bound", "level is not a probability", level, "0 < level < 1");
  }
  std::int64_t fewest = std::int64_t{1} << 40, members = 0;
  for (const Comparison& one : family) {
    if (!one.is_tested || !(one.agreement.excess >= 0)) continue;
    fewest = (std::min)(fewest, one.agreement.estimate.count);
    ++members;
  }
  const boost::math::students_t law(static_cast<double>((std::max<std::int64_t>)(fewest - 1, 1)));
  return boost::math::quantile(
      boost::math::complement(law, level / 2 / static_cast<double>((std::max<std::int64_t>)(members, 1))));
}

/// Judges all comparisons of a run as one family: fills in their verdicts, with the reason where there is none.
///
/// A right theory among them is called a disagreement with probability `level` at most. A rejection by fewer than
/// fewest_trials trials is not judged.
///
/// Source    Holm's test: docs/theory/statistics.md#comparisons.
/// Errors    std::domain_error for a level that is no probability.
/// Accuracy  tests/statistics/family_verdict.cpp, with the rate of false alarms and of wrong theories that are found.
inline FamilyVerdict judge(std::vector<Comparison>& family, double level) {
  FamilyVerdict whole{.bound = family_bound(family, level)};
  std::vector<Agreement> tested;
  for (const Comparison& one : family) {
    if (one.is_tested) tested.push_back(one.agreement);
  }
  const std::vector<Verdict> found = verdicts(tested, level);
  std::vector<double> resolutions;
  double worst = -1;
  for (std::size_t i = 0, place = 0; i < family.size(); ++i) {
    Comparison& one = family[i];
    one.verdict = one.is_tested ? found[place++] : Verdict::not_judged;
    const Agreement& agreement = one.agreement;
    whole.tested += one.is_tested && agreement.excess >= 0 ? 1 : 0;
    if (one.verdict == Verdict::disagrees && one.trials < fewest_trials) {
      one.verdict = Verdict::not_judged;
      one.agreement.reason = "z = " + short_text(agreement.excess, 3) + ", but the mean of " +
                             std::to_string(one.trials) + " trials may not be normal: at least " +
                             std::to_string(fewest_trials);
    }
    if (one.verdict == Verdict::not_judged) continue;
    ++whole.judged;
    whole.disagreements += one.verdict == Verdict::disagrees ? 1 : 0;
    if (!whole.farthest || agreement.excess > family[*whole.farthest].agreement.excess) whole.farthest = i;
    const double resolution = agreement.resolution(whole.bound);
    if (!std::isfinite(resolution)) continue;
    resolutions.push_back(resolution);
    if (resolution > worst) whole.coarsest = i;
    worst = (std::max)(worst, resolution);
  }
  if (resolutions.empty()) return whole;
  std::sort(resolutions.begin(), resolutions.end());
  const std::size_t count = resolutions.size();
  whole.median_resolution = (resolutions[(count - 1) / 2] + resolutions[count / 2]) / 2;
  return whole;
}

}  // namespace incontext::statistics
