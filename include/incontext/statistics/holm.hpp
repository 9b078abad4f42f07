#pragma once

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/agreement.hpp"

/// Verdicts on many comparisons at once, and the p-values they are made from.
namespace incontext::statistics {

/// The two-sided probability of a deviation at least as large as the one seen, if the theory holds.
///
/// \f[ p = 2 P(T_{n-1} > \mathrm{excess}) \f]
///
/// Source    Student t with n - 1 degrees of freedom: docs/theory/statistics.md#agreement.
/// Units     a probability.
/// Domain    every agreement.
/// Limits    excess = 0: 1; excess infinite: 0; an agreement without an excess: NaN.
/// Accuracy  1e-9 relative (tests/statistics/agreement.cpp).
inline double p_value(const Agreement& agreement) {
  if (!(agreement.excess <= (std::numeric_limits<double>::max)())) return agreement.excess > 0 ? 0 : agreement.excess;
  const auto freedom = static_cast<double>(agreement.estimate.count - 1);
  if (agreement.excess > 1e150) {  // whose square overflows: the law's power tail
    return 2 * std::exp((freedom / 2 - 1) * std::log(freedom) - freedom * std::log(agreement.excess) +
                        std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2) - std::log(std::numbers::pi) / 2);
  }
  const boost::math::students_t distribution(freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, agreement.excess));
}

/// The bound on |z| at which the largest of a family of independent normal deviates exceeds it with the given chance.
///
/// \f[ P(\max |z| > \mathrm{bound}) \le \alpha:\quad \mathrm{bound} = \Phi^{-1}(1 - \alpha/(2m)) \f]
///
/// Source    Bonferroni; the first step of Holm: docs/theory/statistics.md#families.
/// Units     standard errors.
/// Domain    members >= 1, 0 < level < 1.
/// Errors    std::invalid_argument for members, std::domain_error for level outside the domain.
inline double family_wise_bound(std::size_t members, double level) {
  require_at_least("statistics::family_wise_bound", "members", members, std::size_t{1});
  if (!(level > 0 && level < 1)) {
    throw_domain_error("statistics::family_wise_bound", "level is not a probability", level, "0 < level < 1");
  }
  const double each = level / static_cast<double>(members);
  if (!(each >= 1e-307)) {
    throw_domain_error("statistics::family_wise_bound", "level over the number of members is too small", each,
                       "at least 1e-307");
  }
  return boost::math::quantile(boost::math::complement(boost::math::normal(), each / 2));
}

/// Holm's step-down test: which members of a family are rejected with family-wise error at most level.
///
/// Source    Holm 1979: in order, reject while p_(i) <= level / (m - i). Proof: docs/theory/statistics.md#families.
/// Shapes    p_values: m -> m verdicts, true where rejected.
/// Domain    0 < level < 1; p-values in [0, 1]; NaN is rejected (it is no evidence of agreement).
/// Errors    std::domain_error for level outside the domain.
/// Accuracy  family-wise error by simulation in tests/statistics/agreement.cpp.
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

/// Holm's verdicts on a family of agreements, with family-wise error at most level. Members that
/// are not finite cannot be tested and are not counted in the family.
///
/// Source    holm_rejections on the p-values.
/// Shapes    m agreements -> m verdicts.
/// Errors    std::domain_error for level outside the domain.
inline std::vector<Verdict> verdicts(const std::vector<Agreement>& family, double level) {
  std::vector<double> p_values;
  for (const Agreement& member : family) {
    if (member.excess >= 0) p_values.push_back(p_value(member));
  }
  const std::vector<bool> rejected = holm_rejections(p_values, level);
  std::vector<Verdict> result;
  result.reserve(family.size());
  std::size_t tested = 0;
  for (const Agreement& member : family) result.push_back(member.verdict_if(member.excess >= 0 && rejected[tested++]));
  return result;
}

}  // namespace incontext::statistics
