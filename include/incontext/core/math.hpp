#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "incontext/core/constants.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"

/// Elementary functions for any Real, callable on a device, that keep their relative accuracy where a difference would
/// cancel. Functions that a scalar type lacks are computed from those that every Real has.
namespace incontext::math {

namespace detail {
using std::expm1;
using std::log1p;
using std::pow;
// Eigen's AutoDiffScalar and Boost's autodiff lack some of these.
template <class T>
concept HasLog1p = requires(const T& x) {
  { log1p(x) } -> std::convertible_to<T>;
};
template <class T>
concept HasExpm1 = requires(const T& x) {
  { expm1(x) } -> std::convertible_to<T>;
};
template <class T>
concept HasPow = requires(const T& x, const T& y) {
  { pow(x, y) } -> std::convertible_to<T>;
};
}  // namespace detail

/// \f$ \log(1 + x) \f$, with a small relative error near x = 0 too.
///
/// Limits    x = -1: -infinity; NaN for a type without log1p.
/// Errors    NaN for x < -1.
/// Accuracy  that of the type's own log1p; without one, 4 eps (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T log_one_plus(const T& x) {
  if constexpr (detail::HasLog1p<T>) {
    using std::log1p;
    return log1p(x);
  } else {
    using std::log;
    const T rounded = T(1) + x;
    if (!is_finite(rounded)) return log(rounded);
    const T lost = x - (rounded - T(1));
    return log(rounded) + lost / rounded;
  }
}

/// \f$ e^x - 1 \f$, with a small relative error near x = 0 too.
///
/// Limits    x -> -infinity: -1.
/// Accuracy  that of the type's own expm1; without one, 8 eps (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T exp_minus_one(const T& x) {
  if constexpr (detail::HasExpm1<T>) {
    using std::expm1;
    return expm1(x);
  } else {
    using std::exp;
    using std::tanh;
    const T half = x / T(2);
    const T exponential = exp(x);
    return tanh(half) * (exponential + T(1));
  }
}

/// \f$ x^y \f$ for x > 0.
///
/// Accuracy  that of the type's own pow; without one, 4 eps (1 + |y log x|) (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T power(const T& x, const T& y) {
  if constexpr (detail::HasPow<T>) {
    using std::pow;
    return pow(x, y);
  } else {
    using std::exp;
    using std::log;
    const T exponent = y * log(x);
    return exp(exponent);
  }
}

/// \f$ e^x - 1 - x = \frac{x^2}2 (1 + \frac x3 (1 + \frac x4 (\ldots))) \f$. The series is used where the difference
/// would cancel.
///
/// Units     of x.
/// Accuracy  8 eps relative (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T exp_minus_one_minus(const T& x) {
  if (!(magnitude(x) <= T(0.5))) return exp_minus_one(x) - x;
  constexpr int last = std::numeric_limits<T>::digits / 4 + 8;  // 2^-last / last! is far below one rounding
  T sum = T(1);
  for (int k = last; k >= 3; --k) sum = T(1) + x * sum / T(double(k));
  return x * x * sum / T(2);
}

/// \f$ x - \log(1 + x) = r x - 2 (r^3/3 + r^5/5 + \ldots),\ r = x / (2 + x) \f$. The series is used where the
/// difference would cancel.
///
/// Units     of x.
/// Limits    x -> -1: infinity.
/// Errors    NaN for x < -1.
/// Accuracy  8 eps relative (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T minus_log_one_plus(const T& x) {
  if (!(magnitude(x) <= T(0.5))) return x - log_one_plus(x);
  const T ratio = x / (T(2) + x);
  const T square = ratio * ratio;
  constexpr int last = std::numeric_limits<T>::digits / 3 + 4;  // |ratio|^2 <= 1/9
  T sum = T(0);
  for (int k = last; k >= 1; --k) sum = square * (T(1) / T(double(2 * k + 1)) + sum);
  return ratio * (x - T(2) * sum);
}

/// \f$ (1 + x) \log(1 + x) - x \ge 0 \f$, which has a zero of second order at x = 0.
///
/// Limits    x = -1: 1.
/// Accuracy  16 eps relative (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T relative_entropy_term(const T& x) {
  if (!(T(-1) < x)) return T(1);
  const T logarithm = log_one_plus(x);
  const T defect = minus_log_one_plus(x);
  return x * logarithm - defect;
}

/// The probability that a standard normal variable exceeds x, with a small relative error in both tails.
///
/// \f[ P(g > x) = \frac12 \mathrm{erfc}(x / \sqrt 2) \f]
///
/// Limits    x -> -infinity: 1; x -> infinity: 0.
/// Accuracy  8 eps (1 + x^2) relative (tests/core/math.cpp).
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T normal_tail(const T& x) {
  using std::erfc;
  using std::sqrt;
  const T scaled = x / sqrt(T(2));
  return erfc(scaled) / T(2);
}

}  // namespace incontext::math
