#pragma once

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/estimate.hpp"

namespace incontext::statistics {

/// A theory value beside the simulation that judges it.
///
/// \f[ z = (\bar x - \mathrm{theory}) / \mathrm{se} \f]
///
/// Source    textbook; Student t with n - 1 degrees of freedom for the p-value.
/// Units     z in standard errors; resolution relative to the theory.
/// Limits    a trial that was not finite, or no finite standard error: z is NaN and nothing agrees with NaN.
/// Accuracy  tests/statistics/agreement.cpp.
/// Runs on   host
struct Agreement {
  double theory = 0;
  Estimate estimate;
  double z = std::numeric_limits<double>::quiet_NaN();

  /// Two-sided probability of a deviation this large if the theory holds.
  [[nodiscard]] double p_value() const {
    if (!(std::abs(z) <= (std::numeric_limits<double>::max)())) return 0;
    const boost::math::students_t distribution(static_cast<double>(estimate.count - 1));
    return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(z)));
  }
  /// The smallest relative deviation that would have been seen nine times in ten at this bound on |z|.
  [[nodiscard]] double resolution(double bound) const {
    return (bound + boost::math::quantile(boost::math::normal(), 0.9)) * estimate.standard_error / std::abs(theory);
  }
  [[nodiscard]] bool within(double bound) const { return std::abs(z) <= bound; }
};

/// Puts a theory value beside an estimate.
///
/// Source    as Agreement; a standard error of zero agrees only with the exact value.
/// Runs on   host
inline Agreement agree(double theory, const Estimate& estimate) {
  Agreement result{theory, estimate, std::numeric_limits<double>::quiet_NaN()};
  if (estimate.non_finite > 0 || estimate.count < 2) return result;
  if (!(estimate.standard_error <= (std::numeric_limits<double>::max)())) return result;
  const double difference = estimate.mean - theory;
  result.z = difference == 0 ? 0 : difference / estimate.standard_error;
  return result;
}

/// The bound on |z| at which the largest of a family of independent normal deviates exceeds it with the given chance.
///
/// \f[ P(\max |z| > \mathrm{bound}) \le \alpha:\quad \mathrm{bound} = \Phi^{-1}(1 - \alpha/(2m)) \f]
///
/// Source    Bonferroni; the first step of Holm.
/// Units     standard errors.
/// Domain    members >= 1, 0 < level < 1.
/// Errors    std::invalid_argument, std::domain_error.
/// Runs on   host
inline double family_wise_bound(std::size_t members, double level) {
  require_at_least("statistics::family_wise_bound", "members", members, std::size_t{1});
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::family_wise_bound", "level is not a probability", level, "0 < level < 1");
  }
  return boost::math::quantile(
      boost::math::complement(boost::math::normal(), level / 2 / static_cast<double>(members)));
}

/// Holm's step-down test: which members of a family are rejected with family-wise error at most level.
///
/// Source    Holm 1979: sort p-values, reject while p_(i) <= level / (m - i).
/// Shapes    p_values: m -> m verdicts, true where rejected.
/// Domain    0 < level < 1; p-values in [0, 1]; NaN is rejected (it is no evidence of agreement).
/// Errors    std::domain_error.
/// Accuracy  family-wise error by simulation in tests/statistics/agreement.cpp.
/// Runs on   host
inline std::vector<bool> holm_rejections(const std::vector<double>& p_values, double level) {
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::holm_rejections", "level is not a probability", level, "0 < level < 1");
  }
  const auto evidence = [&](std::size_t i) { return p_values[i] >= 0 ? p_values[i] : 0.0; };
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return evidence(a) < evidence(b); });
  std::vector<bool> rejected(p_values.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!(evidence(order[i]) <= level / static_cast<double>(order.size() - i))) break;
    rejected[order[i]] = true;
  }
  return rejected;
}

/// Holm's verdicts on a family of agreements: true where theory and simulation disagree.
///
/// Source    holm_rejections on the p-values.
/// Runs on   host
inline std::vector<bool> disagreements(const std::vector<Agreement>& family, double level) {
  std::vector<double> p_values;
  for (const Agreement& member : family) p_values.push_back(member.p_value());
  return holm_rejections(p_values, level);
}

}  // namespace incontext::statistics
