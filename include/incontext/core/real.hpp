#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "incontext/core/floating_point.hpp"

namespace incontext {

namespace detail::elementary_lookup {

using std::atan;
using std::cos;
using std::exp;
using std::log;
using std::sin;
using std::sqrt;
using std::tanh;

/// The elementary functions that a scalar type must have; atan is needed only for types with more digits than double,
/// whose pi is computed with it.
template <class T>
concept HasElementaryFunctions = requires(const T& x) {
  { exp(x) } -> std::convertible_to<T>;
  { log(x) } -> std::convertible_to<T>;
  { sqrt(x) } -> std::convertible_to<T>;
  { sin(x) } -> std::convertible_to<T>;
  { cos(x) } -> std::convertible_to<T>;
  { tanh(x) } -> std::convertible_to<T>;
  requires std::numeric_limits<T>::digits <= 53 || requires {
    { atan(x) } -> std::convertible_to<T>;
  };
};

}  // namespace detail::elementary_lookup

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
