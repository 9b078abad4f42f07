#pragma once

#include <limits>

#include "support/refusal.hpp"

/// Values every law refuses, and how far a number is from the same template in long double.
namespace incontext::testing {

inline constexpr double out_of_reach[] = {std::numeric_limits<double>::quiet_NaN(),
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity()};

/// |value - exact| in units of eps of T times scale; NaN if either is.
template <class T>
double eps_from(const T& value, long double exact, long double scale) {
  const long double error = static_cast<long double>(value) - exact;
  return static_cast<double>((error < 0 ? -error : error) /
                             (static_cast<long double>(std::numeric_limits<T>::epsilon()) * scale));
}

}  // namespace incontext::testing
