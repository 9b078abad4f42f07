#pragma once

#include <cmath>
#include <limits>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

/// How many nats below its maximum a log-concave integrand is negligible.
///
/// Units     nats.
template <Real T>
T negligible_drop() {
  using std::log;
  return T(3) - log(T(std::numeric_limits<T>::epsilon()));
}

/// The interval outside which exp of a concave function has fallen by at least `drop` nats from its maximum.
///
/// Shapes    (concave function f, a start near its maximum, drop) -> interval around the maximum
/// Units     of f's argument; drop in nats.
/// Domain    f concave, falling on both sides; where it falls by more than about one nat within one unit of its maximum,
///           the start is to be that near to it.
/// Accuracy  the ends are beyond the drop, by at most 1/16 of their distance from the maximum, which is located to one
///           unit; where the drop is within 1/16 of a unit, by at most that distance: tests/laws/log_concave.cpp.
template <Real T, class Function>
Interval<T> log_concave_support(const Function& f, const T& start, const T& drop);

/// Integral of the exponential of a concave function.
///
/// \f[ \int ds\, e^{f(s)} \f]
///
/// Source    numerics::integrate_bump over log_concave_support.
/// Units     of s.
/// Domain    f concave and analytic, falling on both sides; the start near its maximum.
/// Errors    numerics::QuadratureError.
/// Accuracy  that of numerics::integrate_bump.
template <Real T, class Function>
numerics::Quadrature<T> integrate_log_concave(std::string_view where, const Function& log_density, const T& start) {
  using std::exp;
  const auto interval = log_concave_support(log_density, start, negligible_drop<T>());
  const T width = interval.upper - interval.lower;
  return numerics::integrate_bump<T>(
      where, [&](const T& u) { return T(width * T(exp(log_density(T(interval.lower + width * u))))); });
}

// The maximum of a concave function, approximately.
namespace detail {

/// A point within about one nat of the maximum of a concave function, by growing steps and golden-section search.
template <Real T, class Function>
T near_maximum(const Function& f, T middle) {
  T best = f(middle), step = T(1);
  T low = middle - step, high = middle + step;
  for (int i = 0; i < 100 && best < f(high); ++i, step = step * T(2)) {
    low = middle;
    middle = high;
    best = f(middle);
    high = middle + step;
  }
  for (int i = 0; i < 100 && best < f(low); ++i, step = step * T(2)) {
    high = middle;
    middle = low;
    best = f(middle);
    low = middle - step;
  }
  for (int i = 0; i < 40 && T(1) < high - low; ++i) {
    const bool right = middle - low < high - middle;
    const T probe = middle + (right ? T(high - middle) : T(low - middle)) * T(0.381966);
    const T value = f(probe);
    if (best < value) {
      (right ? low : high) = middle;
      middle = probe;
      best = value;
    } else {
      (right ? high : low) = probe;
    }
  }
  return middle;
}

}  // namespace detail

template <Real T, class Function>
Interval<T> log_concave_support(const Function& f, const T& start, const T& drop) {
  const T peak = detail::near_maximum(f, start);
  const T threshold = f(peak) - drop;
  const auto edge = [&](const T& direction) {
    T inside = T(0), outside = T(2);
    for (int i = 0; i < 100 && threshold < f(T(peak + direction * outside)); ++i) {
      inside = outside;
      outside = outside * T(2);
    }
    for (int i = 0; i < 5 || (i < 100 && !(T(0) < inside)); ++i) {
      const T middle = (inside + outside) / T(2);
      (threshold < f(T(peak + direction * middle)) ? inside : outside) = middle;
    }
    return T(peak + direction * outside);
  };
  return {edge(T(-1)), edge(T(1))};
}

INCONTEXT_COMPILED(laws_log_concave, negligible_drop<double>);

}  // namespace incontext::laws
