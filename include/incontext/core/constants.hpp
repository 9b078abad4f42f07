#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"

/// Constants of any Real, callable on a device, and the test of whether a number is finite.
namespace incontext::math {

/// Constants of the built-in types. nvcc takes the functions of std::numeric_limits for host-only functions; their
/// values as static members can be used on a device.
///
/// Runs on   host and device
template <std::floating_point T>
struct Constants {
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
  static constexpr T epsilon = std::numeric_limits<T>::epsilon();
  static constexpr T smallest = (std::numeric_limits<T>::min)();
  static constexpr T pi = static_cast<T>(3.141592653589793238462643383279502884L);
};

/// Positive infinity.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T infinity() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::infinity;
  } else {
    return T(std::numeric_limits<T>::infinity());
  }
}

/// Quiet NaN.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T not_a_number() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::not_a_number;
  } else {
    return T(std::numeric_limits<T>::quiet_NaN());
  }
}

/// The distance from 1 to the next larger number.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T epsilon() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::epsilon;
  } else {
    return T(std::numeric_limits<T>::epsilon());
  }
}

/// The smallest positive number that has all digits.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T smallest() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::smallest;
  } else {
    return T((std::numeric_limits<T>::min)());
  }
}

/// Half the circumference of a unit circle.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T pi() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::pi;
  } else if constexpr (std::numeric_limits<T>::digits <= 53) {
    return T(3.14159265358979323846);
  } else {
    using std::atan;
    return T(4) * atan(T(1));
  }
}

/// An integer as a real number. It is converted by way of double, which is exact below 2^53 and all that Real promises.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T from_count(std::ptrdiff_t count) {
  return T(static_cast<double>(count));
}

/// Whether x is neither infinite nor NaN.
///
/// Runs on   host and device
template <Real T>
INCONTEXT_HD bool is_finite(const T& x) {
  return -infinity<T>() < x && x < infinity<T>();
}

/// \f$ |x| \f$; NaN for NaN.
///
/// Units     of x.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T magnitude(const T& x) {
  return x < T(0) ? T(-x) : x;
}

}  // namespace incontext::math
