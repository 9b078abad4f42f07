#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/quadrature.hpp"

namespace incontext::laws {

/// Several integrals over [0, 1], their changes at the last halving of the step, and the integrals of absolute values.
///
/// Units     as the integrals.
/// Runs on   host
template <Real T, std::size_t N>
struct JointQuadrature {
  std::array<T, N> value, change, size;
};

/// integrate_bump for several functions that share their nodes: one call of f gives the values of all.
///
/// Source    the trapezoidal rule, with steps halved until every change is below the tolerance times the integral of
///           the absolute value.
/// Shapes    f: u -> std::array of N values
/// Units     of f.
/// Domain    f analytic on [0, 1], 0 to rounding with its derivatives at both ends.
/// Errors    QuadratureError after 2^12 steps.
/// Accuracy  as integrate_bump.
/// Runs on   host
template <std::size_t N, Real T, class Function>
JointQuadrature<T, N> integrate_bumps(std::string_view where, const Function& f, const T& tolerance) {
  constexpr int first_level = 4, last_level = 12;
  JointQuadrature<T, N> sums{}, result{};
  const auto add = [&](const T& u) {
    const std::array<T, N> values = f(u);
    for (std::size_t k = 0; k < N; ++k) {
      sums.value[k] += values[k];
      sums.size[k] += math::magnitude(values[k]);
    }
  };
  T worst = T(1);
  for (int level = first_level; level <= last_level; ++level) {
    const int intervals = 1 << level;
    const T step = T(1) / T(double(intervals));
    for (int i = 1; i < intervals; i += level == first_level ? 1 : 2) add(T(T(double(i)) * step));
    worst = T(0);
    for (std::size_t k = 0; k < N; ++k) {
      const T value = sums.value[k] * step;
      const T change = math::magnitude(T(value - result.value[k]));
      result.value[k] = value;
      result.change[k] = change;
      result.size[k] = sums.size[k] * step;
      if (!(change <= worst * result.size[k])) worst = change / result.size[k];
    }
    if (first_level < level && worst <= tolerance) return result;
  }
  throw QuadratureError(where, static_cast<double>(worst), static_cast<double>(tolerance));
}

}  // namespace incontext::laws
