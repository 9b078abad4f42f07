#pragma once

#include "incontext/core/floating_point.hpp"

namespace incontext {

/// The numbers from lower to upper, both included.
///
/// Limits    contains() is false for NaN, and if an end is NaN.
template <class T>
struct Interval {
  T lower;
  T upper;

  [[nodiscard]] bool contains(const T& value) const { return lower <= value && value <= upper; }
};

}  // namespace incontext
