#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

#include "incontext/core/detail/elementary_lookup.hpp"
#include "incontext/core/floating_point.hpp"

namespace incontext {

/// A scalar the closed forms can be evaluated in: float, double, long double, a Boost.Multiprecision number or an
/// automatic-differentiation scalar. Integers are not real numbers here: an accidental `int` would truncate. Its
/// elementary functions are found by argument-dependent lookup. std::numeric_limits must be specialized for it, with
/// infinity and NaN: for any other type the standard returns T() for both. core/, random/ and scoring/ need no more;
/// formulas in the other directories also need what Boost.Math and Eigen require of a scalar.
template <class T>
concept Real = !std::is_integral_v<T> && std::copyable<T> && std::constructible_from<T, double> &&
               std::numeric_limits<T>::is_specialized && std::numeric_limits<T>::has_infinity &&
               std::numeric_limits<T>::has_quiet_NaN && requires(const T& a, const T& b) {
                 { a + b } -> std::convertible_to<T>;
                 { a - b } -> std::convertible_to<T>;
                 { a* b } -> std::convertible_to<T>;
                 { a / b } -> std::convertible_to<T>;
                 { -a } -> std::convertible_to<T>;
                 { a < b } -> std::convertible_to<bool>;
                 { a <= b } -> std::convertible_to<bool>;
                 { a == b } -> std::convertible_to<bool>;
               } && detail::elementary_lookup::HasElementaryFunctions<T>;

/// Plain data, copied bit by bit: what a GPU kernel may take by value.
template <class T>
concept DevicePlain = std::is_trivially_copyable_v<T>;

}  // namespace incontext
