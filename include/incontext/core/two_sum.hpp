#pragma once

#include "incontext/core/host_device.hpp"

namespace incontext::math {

/// Adds one term to a compensated sum: total + lost is the sum of all terms, to a rounding or two whatever their
/// number.
///
/// Knuth's TwoSum gives, without a branch, the rounding error of total + term exactly; `lost` collects these errors, as
/// in Neumaier's summation. Number is any type with + and -: a scalar or a pack.
///
/// Source    Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B; Neumaier 1974.
/// Units     those of the terms.
/// Limits    a term or a total that is infinite: total is what the plain sum is, lost is NaN.
/// Accuracy  the error of one addition is exact; of n terms, 2 eps of the sum and (n eps)^2 of the sum of |term|
///           (tests/core/two_sum.cpp).
/// Runs on   host and device
template <class Number>
INCONTEXT_HD inline void add_compensated(Number& total, Number& lost, const Number& term) {
  const Number next = total + term;
  const Number rounded = next - total;
  const Number lost_total = total - (next - rounded);
  const Number lost_term = term - rounded;
  lost = lost + (lost_total + lost_term);
  total = next;
}

}  // namespace incontext::math
