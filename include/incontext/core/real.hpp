#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

#include "incontext/core/floating_point.hpp"

namespace incontext {

/// A scalar the closed forms can be evaluated in: float, double, long double, a Boost.Multiprecision number or an
/// automatic-differentiation scalar. Integers are not real numbers here: an accidental `int` would truncate.
template <class T>
concept Real = !std::is_integral_v<T> && std::copyable<T> && std::constructible_from<T, double> &&
               requires(const T& a, const T& b) {
  { a + b } -> std::convertible_to<T>;
  { a - b } -> std::convertible_to<T>;
  { a* b } -> std::convertible_to<T>;
  { a / b } -> std::convertible_to<T>;
  { -a } -> std::convertible_to<T>;
  { a < b } -> std::convertible_to<bool>;
  { a <= b } -> std::convertible_to<bool>;
};

/// What a kernel may take by value: plain data, copied bit by bit.
template <class T>
concept DevicePlain = std::is_trivially_copyable_v<T>;

}  // namespace incontext
