#pragma once

#include <cmath>

namespace incontext::testing {

/// How far a value lies from its reference, relative to the reference where that is not zero.
inline double relative(double value, double reference) {
  return reference == 0 ? std::abs(value) : std::abs(value / reference - 1);
}

}  // namespace incontext::testing
