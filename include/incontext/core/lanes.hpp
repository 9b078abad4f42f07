#pragma once

#include <cmath>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"

namespace incontext {

/// One number for each of W trials that run side by side.
///
/// Arithmetic acts trial by trial, and a plain number is the same number in every trial. On a GPU thread W is 1 and a
/// Lanes is a plain number; on a CPU its loops become vector instructions. An operator is one pass over all lanes, so
/// the inner loops of a trial use add_scaled and add_product, or a loop over lanes of their own, which fuse passes.
///
///     Lanes<double, 64> weight = exp(temperature * score);  weight /= sum;
///
/// Shapes    W numbers, lane i is [i].
/// Runs on   host and device
template <class T, int W>
struct alignas(W * sizeof(T) % 16 == 0 ? 16 : alignof(T)) Lanes {  // 16: what every allocation is aligned to
  T of[W];

  Lanes() = default;
  INCONTEXT_HD Lanes(T value) { *this = value; }  // NOLINT: implicit, as a number is the same number in every lane
  INCONTEXT_HD Lanes(const Lanes& other) { *this = other; }

  // Copies by loops: g++ copies so large a struct by a string instruction, which takes longer.
  INCONTEXT_HD Lanes& operator=(const Lanes& other) {  // NOLINT: a copy to itself changes nothing
    for (int lane = 0; lane < W; ++lane) of[lane] = other.of[lane];
    return *this;
  }
  INCONTEXT_HD Lanes& operator=(T value) {
    for (int lane = 0; lane < W; ++lane) of[lane] = value;
    return *this;
  }

  INCONTEXT_HD T& operator[](int lane) { return of[lane]; }
  INCONTEXT_HD const T& operator[](int lane) const { return of[lane]; }

  /// The Lanes with the values f(0), ..., f(W - 1), for operations that have no operator.
  template <class F>
  INCONTEXT_HD static Lanes each(F f) {
    Lanes result;
    for (int lane = 0; lane < W; ++lane) result.of[lane] = f(lane);
    return result;
  }

  INCONTEXT_HD friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a[i] + b[i]; });
  }
  INCONTEXT_HD friend Lanes operator+(const Lanes& a, T b) {
    return each([&](int i) { return a[i] + b; });
  }
  INCONTEXT_HD friend Lanes operator+(T a, const Lanes& b) {
    return each([&](int i) { return a + b[i]; });
  }
  INCONTEXT_HD friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a[i] - b[i]; });
  }
  INCONTEXT_HD friend Lanes operator-(const Lanes& a, T b) {
    return each([&](int i) { return a[i] - b; });
  }
  INCONTEXT_HD friend Lanes operator-(T a, const Lanes& b) {
    return each([&](int i) { return a - b[i]; });
  }
  INCONTEXT_HD friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a[i] * b[i]; });
  }
  INCONTEXT_HD friend Lanes operator*(const Lanes& a, T b) {
    return each([&](int i) { return a[i] * b; });
  }
  INCONTEXT_HD friend Lanes operator*(T a, const Lanes& b) {
    return each([&](int i) { return a * b[i]; });
  }
  INCONTEXT_HD friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return a[i] / b[i]; });
  }
  INCONTEXT_HD friend Lanes operator/(const Lanes& a, T b) {
    return each([&](int i) { return a[i] / b; });
  }
  INCONTEXT_HD friend Lanes operator/(T a, const Lanes& b) {
    return each([&](int i) { return a / b[i]; });
  }

  INCONTEXT_HD Lanes& operator+=(const Lanes& b) {
    for (int lane = 0; lane < W; ++lane) of[lane] += b.of[lane];
    return *this;
  }
  INCONTEXT_HD Lanes& operator-=(const Lanes& b) {
    for (int lane = 0; lane < W; ++lane) of[lane] -= b.of[lane];
    return *this;
  }
  INCONTEXT_HD Lanes& operator*=(const Lanes& b) {
    for (int lane = 0; lane < W; ++lane) of[lane] *= b.of[lane];
    return *this;
  }
  INCONTEXT_HD Lanes& operator*=(T b) {
    for (int lane = 0; lane < W; ++lane) of[lane] *= b;
    return *this;
  }
  INCONTEXT_HD Lanes& operator/=(const Lanes& b) {
    for (int lane = 0; lane < W; ++lane) of[lane] /= b.of[lane];
    return *this;
  }

  INCONTEXT_HD friend Lanes larger(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return b[i] > a[i] ? b[i] : a[i]; });
  }
  INCONTEXT_HD friend Lanes smaller(const Lanes& a, const Lanes& b) {
    return each([&](int i) { return b[i] < a[i] ? b[i] : a[i]; });
  }
  INCONTEXT_HD friend Lanes sqrt(const Lanes& a) {
    using std::sqrt;
    return each([&](int i) { return sqrt(a[i]); });
  }
  /// The C library's function. elementary::exp gives the same bits everywhere, for arguments up to 88.
  INCONTEXT_HD friend Lanes exp(const Lanes& a) {
    using std::exp;
    return each([&](int i) { return exp(a[i]); });
  }
};

/// y += factor x, in one pass.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD inline void add_scaled(Lanes<T, W>& __restrict__ y, T factor, const Lanes<T, W>& __restrict__ x) {
  for (int lane = 0; lane < W; ++lane) y.of[lane] += factor * x.of[lane];
}

/// y += a b, in one pass.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD inline void add_product(Lanes<T, W>& __restrict__ y, const Lanes<T, W>& __restrict__ a,
                                     const Lanes<T, W>& __restrict__ b) {
  for (int lane = 0; lane < W; ++lane) y.of[lane] += a.of[lane] * b.of[lane];
}

/// y -= a b, in one pass.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD inline void subtract_product(Lanes<T, W>& __restrict__ y, const Lanes<T, W>& __restrict__ a,
                                          const Lanes<T, W>& __restrict__ b) {
  for (int lane = 0; lane < W; ++lane) y.of[lane] -= a.of[lane] * b.of[lane];
}

/// Kahan's compensated summation: adds a term to a sum whose rounding errors are collected in `lost`, so that the sum
/// is exact to a rounding or two whatever the number of terms.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD inline void add_compensated(Lanes<T, W>& __restrict__ sum, Lanes<T, W>& __restrict__ lost,
                                         const Lanes<T, W>& __restrict__ term) {
  for (int lane = 0; lane < W; ++lane) {
    const T corrected = term.of[lane] - lost.of[lane];
    const T next = sum.of[lane] + corrected;
    lost.of[lane] = (next - sum.of[lane]) - corrected;
    sum.of[lane] = next;
  }
}

}  // namespace incontext
