#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"

/// Elementary functions for any Real, stable where a difference would cancel, and callable on a device.
namespace incontext::scoring::detail {

namespace lookup {
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
}  // namespace lookup

/// std::numeric_limits' functions are host-only for nvcc; their values as members are not.
template <std::floating_point T>
struct Constants {
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
  static constexpr T epsilon = std::numeric_limits<T>::epsilon();
  static constexpr T smallest = std::numeric_limits<T>::min();
  static constexpr T pi = static_cast<T>(3.141592653589793238462643383279502884L);
};

template <Real T>
INCONTEXT_HD T infinity() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::infinity;
  } else {
    return T(std::numeric_limits<T>::infinity());
  }
}

template <Real T>
INCONTEXT_HD T not_a_number() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::not_a_number;
  } else {
    return T(std::numeric_limits<T>::quiet_NaN());
  }
}

template <Real T>
INCONTEXT_HD T epsilon() {
  if constexpr (std::is_floating_point_v<T>) {
    return Constants<T>::epsilon;
  } else {
    return T(std::numeric_limits<T>::epsilon());
  }
}

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

template <Real T>
INCONTEXT_HD T from_count(std::ptrdiff_t count) {
  return T(static_cast<double>(count));
}

template <Real T>
INCONTEXT_HD bool is_finite(const T& x) {
  return -infinity<T>() < x && x < infinity<T>();
}

template <Real T>
INCONTEXT_HD T magnitude(const T& x) {
  return x < T(0) ? T(-x) : x;
}

template <Real T>
INCONTEXT_HD T log_one_plus(const T& x) {
  if constexpr (lookup::HasLog1p<T>) {
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

template <Real T>
INCONTEXT_HD T exp_minus_one(const T& x) {
  if constexpr (lookup::HasExpm1<T>) {
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

/// x^y for x > 0.
template <Real T>
INCONTEXT_HD T power(const T& x, const T& y) {
  if constexpr (lookup::HasPow<T>) {
    using std::pow;
    return pow(x, y);
  } else {
    using std::exp;
    using std::log;
    const T exponent = y * log(x);
    return exp(exponent);
  }
}

/// e^x - 1 - x = x^2/2 (1 + x/3 (1 + x/4 (...))), by this series where the difference would cancel.
template <Real T>
INCONTEXT_HD T exp_minus_one_minus(const T& x) {
  if (!(magnitude(x) <= T(0.5))) return exp_minus_one(x) - x;
  constexpr int last = std::numeric_limits<T>::digits / 4 + 8;  // 2^-last / last! is far below one rounding
  T sum = T(1);
  for (int k = last; k >= 3; --k) sum = T(1) + x * sum / T(double(k));
  return x * x * sum / T(2);
}

/// x - log(1 + x) = r x - 2 (r^3/3 + r^5/5 + ...), r = x / (2 + x), by this series where the difference would cancel.
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

/// (1 + x) log(1 + x) - x >= 0, zero of second order at x = 0.
template <Real T>
INCONTEXT_HD T relative_entropy_term(const T& x) {
  if (!(T(-1) < x)) return T(1);
  const T logarithm = log_one_plus(x);
  const T defect = minus_log_one_plus(x);
  return x * logarithm - defect;
}

/// A masked score is -infinity. NaN counts as visible, so that it is not lost.
template <Real T>
INCONTEXT_HD bool is_visible(const T& score) {
  return !(score <= -infinity<T>());
}

/// Number of visible scores; 0 if the row has none, or if one of them is NaN or +infinity.
template <Real T>
INCONTEXT_HD std::ptrdiff_t count_visible(Row<const T> scores) {
  std::ptrdiff_t count = 0;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    if (!is_finite(scores[i])) return 0;
    ++count;
  }
  return count;
}

template <Real T>
INCONTEXT_HD void fill(Row<T> out, const T& value) {
  for (std::ptrdiff_t i = 0; i < out.size; ++i) out[i] = value;
}

template <Real T>
INCONTEXT_HD void fill(Grid<T> out, const T& value) {
  for (std::ptrdiff_t i = 0; i < out.rows; ++i) fill(out.row(i), value);
}

}  // namespace incontext::scoring::detail
