#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "incontext/core/floating_point.hpp"

/// Finds the elementary functions of a scalar type: those of std, and those in the namespace of the type itself.
namespace incontext::detail::elementary_lookup {

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

}  // namespace incontext::detail::elementary_lookup
