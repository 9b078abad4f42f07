#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"

namespace incontext::scoring::detail {

/// r_i - sum_j w_j r_j for weights of sum 1, with an error relative to |r_i - r_j| rather than |r|: an offset common to
/// all r costs no digits. At the entry of the largest weight, where 1 - w would cancel, the differences are summed
/// directly.
template <Real T, class Rate>
struct Centered {
  Rate rate;
  T mean = T(0);
  T correction = T(0);
  std::ptrdiff_t top = 0;
  T at_top = T(0);

  INCONTEXT_HD T operator()(std::ptrdiff_t i) const { return i == top ? at_top : T((rate(i) - mean) - correction); }
};

/// weight(i) is 0 for an entry that does not enter the mean; `top` has the largest weight.
template <Real T, class Weight, class Rate>
INCONTEXT_HD Centered<T, Rate> centered(std::ptrdiff_t size, std::ptrdiff_t top, Weight weight, Rate rate) {
  Centered<T, Rate> result{rate};
  result.top = top;
  Sum<T> mean;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const T w = weight(i);
    mean.add(w < T(0) || T(0) < w ? T(w * rate(i)) : T(0));
  }
  result.mean = mean.value();
  const T top_rate = rate(top);
  Sum<T> correction, gap;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const T w = weight(i);
    const bool enters = w < T(0) || T(0) < w;
    const T r = rate(i);
    correction.add(enters ? T(w * (r - result.mean)) : T(0));
    gap.add(enters && i != top ? T(w * (top_rate - r)) : T(0));
  }
  result.correction = correction.value();
  result.at_top = gap.value();
  return result;
}

}  // namespace incontext::scoring::detail
