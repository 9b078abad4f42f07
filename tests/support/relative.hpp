#pragma once

#include <cmath>

namespace incontext::testing {

/// How far a value is from its reference, relative to the reference unless that is zero.
inline double relative(double value, double reference) {
  return reference == 0 ? std::abs(value) : std::abs(value / reference - 1);
}

}  // namespace incontext::testing
