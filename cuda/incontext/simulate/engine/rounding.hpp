#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"

/// The range of a simulation's scalar, and bounds on its rounding errors.
namespace incontext::simulate::detail {

template <class T>
inline constexpr double eps_of = static_cast<double>(std::numeric_limits<T>::epsilon());

/// The bound on the relative error of a trial's value in eps: the trial's own rounding_in_eps, or 1024 without one.
template <class TrialType>
constexpr double rounding_in_eps() {
  if constexpr (requires { TrialType::rounding_in_eps; }) {
    return TrialType::rounding_in_eps;
  } else {
    return 1024;
  }
}

/// An estimate from values whose relative errors are at most in_eps eps of T: by the triangle inequality the error of
/// the mean is at most that fraction of the root mean square. The sums of a chunk and the merges, in double, add at
/// most 104 eps of double (moments.hpp), and underflow in T adds at most its smallest normal number.
template <class T>
statistics::Estimate estimate_of(const statistics::Moments& moments, double in_eps) {
  statistics::Estimate estimate(moments);
  if (moments.count == 0) return estimate;
  const double mean_square = moments.mean * moments.mean + moments.sum_of_squares / static_cast<double>(moments.count);
  estimate.rounding = (in_eps * eps_of<T> + 104 * eps_of<double>)*std::sqrt(mean_square) +
                      static_cast<double>((std::numeric_limits<T>::min)());
  return estimate;
}

/// The error of a mean of squares if the root mean square m is off by amplitude: \f$ (m + \delta)^2 - m^2 \f$.
inline double rounding_of_square(double mean, double amplitude) {
  return amplitude * (2 * std::sqrt(std::abs(mean)) + amplitude);
}

/// Refuses a parameter that overflows the simulation's scalar, or is not 0 and underflows: a different model would be
/// simulated without a warning. `as_held` is the number that the trials read, `value` the one that the caller gave.
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
