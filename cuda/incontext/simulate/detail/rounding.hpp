#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"

/// What a simulation's scalar can hold, and what it rounds away.
namespace incontext::simulate::detail {

template <class T>
inline constexpr double eps_of = static_cast<double>(std::numeric_limits<T>::epsilon());

/// How many eps of its own size a value of a trial may be off by: what the trial states as rounding_in_eps, or 1024.
template <class TrialType>
constexpr double rounding_in_eps() {
  if constexpr (requires { TrialType::rounding_in_eps; }) {
    return TrialType::rounding_in_eps;
  } else {
    return 1024;
  }
}

/// An estimate whose values are each off by at most so many eps of T in their own size: by the triangle inequality the
/// mean is off by that much of the root mean square. Sums of a chunk and merges, in double, add at most 104 eps of
/// theirs (moments.hpp), and what T cannot hold at all is below its normal numbers.
template <class T>
statistics::Estimate estimate_of(const statistics::Moments& moments, double in_eps) {
  statistics::Estimate estimate(moments);
  if (moments.count == 0) return estimate;
  const double mean_square =
      moments.mean * moments.mean + moments.sum_of_squares / static_cast<double>(moments.count);
  estimate.rounding = (in_eps * eps_of<T> + 104 * eps_of<double>) * std::sqrt(mean_square) +
                      static_cast<double>((std::numeric_limits<T>::min)());
  return estimate;
}

/// The mean of squares of values whose root mean square is off by `amplitude`: \f$ (m + \delta)^2 - m^2 \f$.
inline double rounding_of_square(double mean, double amplitude) {
  return amplitude * (2 * std::sqrt(std::abs(mean)) + amplitude);
}

/// Refuses a parameter that overflows the simulation's scalar, or is not 0 and falls below its normal numbers: in
/// silence another model would be simulated. `as_held` is what the trials read, `value` what the caller gave.
template <class T>
void require_holds(std::string_view where, std::string_view parameter, double value, double as_held) {
  constexpr auto least = static_cast<double>((std::numeric_limits<T>::min)()),
                 most = static_cast<double>((std::numeric_limits<T>::max)());
  if (as_held == 0 || (least <= std::abs(as_held) && std::abs(as_held) <= most)) return;
  char needs[96];
  std::snprintf(needs, sizeof needs, "%s numbers, from %.2g to %.2g in size",
                sizeof(T) == 4 ? "single-precision" : "double-precision", least, most);
  throw_domain_error(where, std::string(parameter) + " is outside the range of the simulation's numbers", value, needs);
}

}  // namespace incontext::simulate::detail
