#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/fading.hpp"
#include "incontext/numerics/solve.hpp"

/// The weights of a row of two levels, from the weights of its two kinds of scores.
namespace incontext::laws::detail {

template <Real T>
T require_two_levels(std::ptrdiff_t row_length, const T& high, const T& low) {
  require_at_least("laws::two_level_weights", "row_length", row_length, std::ptrdiff_t{1});
  require_finite("laws::two_level_weights", "high", high);
  require_finite("laws::two_level_weights", "low", low);
  return math::from_count<T>(row_length);
}

/// The two-level weights, given the weight of the high score and that of each low score.
template <Real T>
TwoLevelWeights<T> two_levels(const T& row_length, const T& high, const T& low) {
  if (!(T(1) < row_length)) return {T(1), std::numeric_limits<T>::quiet_NaN(), T(0)};
  return {high, low, (row_length - T(1)) * low};
}

/// alpha-entmax: the low weight is u^p, where (u + c)^p + (n - 1) u^p = 1, c = (alpha - 1) gap, p = 1 / (alpha - 1).
template <Real T>
TwoLevelWeights<T> two_level_entmax(const T& row_length, const T& gap, const T& alpha) {
  using std::exp;
  using std::pow;
  const T others = row_length - T(1), power = T(1) / (alpha - T(1)), offset = (alpha - T(1)) * gap;
  if (!(T(0) < others) || T(1) <= offset) return two_levels(row_length, T(1), T(0));
  const auto excess = [&](const T& u) {
    const T top = u + offset;
    T above = top > T(0) ? T(pow(top, power) - T(1)) : T(-1);
    // offset - 1 is exact here, so u keeps its digits near the gap at which the row becomes one-hot
    const T beyond_one = u + (offset - T(1));
    if (T(0.5) < top) above = math::exp_minus_one(T(power * math::log_one_plus(beyond_one)));
    return T(above + others * pow(u, power));
  };
  const T most = T(0) < offset ? T(T(1) - offset) : T(1);
  const T u = numerics::root_between<T>("laws::two_level_weights", excess, T(0), most);
  const T top = u + offset;
  return two_levels(row_length, T(0) < top ? T(pow(top, power)) : T(0), T(pow(u, power)));
}

}  // namespace incontext::laws::detail
