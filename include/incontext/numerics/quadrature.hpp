#pragma once

#include <array>
#include <boost/math/quadrature/trapezoidal.hpp>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::numerics {

/// A numerical integral and an estimate of its error.
template <Real T>
struct Quadrature {
  T value;
  T error_estimate;  ///< change at the last halving, than which the error is far smaller; on a lattice the rounding
};

/// Thrown by an integral that did not reach its tolerance; it holds the error estimate that was achieved, and what the
/// function would have returned, for callers to whom that is good enough.
///
/// Units     achieved relative to the integral of the absolute value; result as the function's, NaN where that is no
///           single number or there is none.
class QuadratureError : public std::runtime_error {
 public:
  QuadratureError(std::string_view where, double achieved_estimate, double tolerance,
                  const Quadrature<double>& would_return = {std::numeric_limits<double>::quiet_NaN(),
                                                            std::numeric_limits<double>::quiet_NaN()})
      : std::runtime_error(message(where, achieved_estimate, tolerance, would_return.value)),
        achieved(achieved_estimate),
        result(would_return) {}

  double achieved;
  Quadrature<double> result;

 private:
  static std::string message(std::string_view where, double achieved, double tolerance, double value) {
    std::ostringstream text;
    text << "incontext::" << where << ": the integral does not converge (estimated relative error = " << achieved
         << "; needs " << tolerance;
    if (value - value <= 0) text << "; value = " << value;
    text << ")";
    return std::move(text).str();
  }
};

/// Relative error estimate that every integral of the laws must reach: eps^(16/25), 9.6e-11 in double.
template <Real T>
T quadrature_tolerance() {
  using std::exp;
  using std::log;
  return exp(T(log(T(std::numeric_limits<T>::epsilon())) * T(0.64)));
}

/// Integral of a function that is 0 to rounding, with its derivatives, at both ends.
///
/// \f[ \int_0^1 f(u)\,du \f]
///
/// The trapezoidal rule with steps 2^-k. For an analytic f its error falls exponentially in 1/step, so each halving
/// roughly squares the error, and the change at the last halving overestimates the error that is left.
///
/// Source    Boost.Math's trapezoidal.
/// Units     of f.
/// Domain    f analytic on [0, 1]; nodes are exact dyadic fractions.
/// Errors    QuadratureError after 2^`halvings` steps.
/// Accuracy  estimate against known integrals: tests/numerics/quadrature.cpp.
template <Real T, class Function>
Quadrature<T> integrate_bump(std::string_view where, const Function& f, const T& tolerance = quadrature_tolerance<T>(),
                             std::size_t halvings = std::numeric_limits<T>::digits > 64 ? 15 : 13) {
  T error = T(0), absolute = T(0);
  const T value = boost::math::quadrature::trapezoidal([&f](const T& u) { return f(u); }, T(0), T(1), tolerance,
                                                       halvings, &error, &absolute);
  if (!(error <= tolerance * absolute)) {
    throw QuadratureError(where, static_cast<double>(T(error / absolute)), static_cast<double>(tolerance));
  }
  return {value, error};
}

/// Several integrals over [0, 1], their changes at the last halving of the step, and the integrals of absolute values.
///
/// Shapes    Values: std::array or std::vector
/// Units     as the integrals; worst is dimensionless.
template <class Values, Real T>
struct JointQuadrature {
  Values value, change, size;
  T worst;  ///< the largest change over its size
};

/// Whether a function on [0, 1] is known to be even about 1/2. Then it is called with u >= 1/2 alone.
enum class Symmetry { none, even };

/// integrate_bump for several functions that share their nodes: one call of f gives the values of all. Whether they
/// converged is for the caller to judge. Where f_k is itself a sum that may cancel, `size_of(k)` names the entry whose
/// size the change of the k-th is judged by.
///
/// Source    the trapezoidal rule, with steps halved until every change is below the tolerance times the integral of
///           the absolute value, or there are 2^12 steps.
/// Shapes    f: u -> values of the type and size of `zero`, which is zero in every entry
/// Units     of f.
/// Domain    f analytic on [0, 1], 0 to rounding with its derivatives at both ends.
/// Errors    none: `worst` is above the tolerance, or NaN, where they do not converge.
/// Accuracy  as integrate_bump.
template <class Values, Real T, class Function, class SizeOf = std::identity>
JointQuadrature<Values, T> sum_bumps(const Function& f, const Values& zero, const T& tolerance,
                                     const SizeOf& size_of = {}, Symmetry symmetry = Symmetry::none) {
  constexpr int first_level = 4, last_level = 12;
  const bool even = symmetry == Symmetry::even;
  const std::size_t count = zero.size();
  JointQuadrature<Values, T> sums{zero, zero, zero, T(1)}, result{zero, zero, zero, T(1)};
  const auto add = [&](const T& u) {
    const Values values = f(u);
    const T times = even && T(0.5) < u ? T(2) : T(1);
    for (std::size_t k = 0; k < count; ++k) {
      sums.value[k] += times * values[k];
      sums.size[k] += times * math::magnitude(values[k]);
    }
  };
  for (int level = first_level; level <= last_level; ++level) {
    const int intervals = 1 << level;
    const T step = T(1) / T(double(intervals));
    const bool first = level == first_level;
    const int from = !even ? 1 : first ? intervals / 2 : intervals / 2 + 1;
    for (int i = from; i < intervals; i += first ? 1 : 2) add(T(T(double(i)) * step));
    result.worst = T(0);
    for (std::size_t k = 0; k < count; ++k) {
      const T value = sums.value[k] * step;
      const T change = math::magnitude(T(value - result.value[k]));
      result.value[k] = value;
      result.change[k] = change;
      result.size[k] = sums.size[k] * step;
      const T size = sums.size[size_of(k)] * step;
      if (!(change <= result.worst * size)) result.worst = change / size;
    }
    if (!first && result.worst <= tolerance) break;
  }
  return result;
}

/// The same, where all have to converge.
///
/// Errors    QuadratureError after 2^12 steps.
template <class Values, Real T, class Function>
JointQuadrature<Values, T> integrate_bumps(std::string_view where, const Function& f, const Values& zero,
                                           const T& tolerance, Symmetry symmetry = Symmetry::none) {
  auto result = sum_bumps(f, zero, tolerance, std::identity{}, symmetry);
  if (result.worst <= tolerance) return result;
  throw QuadratureError(where, static_cast<double>(result.worst), static_cast<double>(tolerance));
}

/// The same for a number of functions that is known when the program is compiled.
///
/// Shapes    f: u -> std::array of N values
template <std::size_t N, Real T, class Function>
JointQuadrature<std::array<T, N>, T> integrate_bumps(std::string_view where, const Function& f, const T& tolerance) {
  return integrate_bumps(where, f, std::array<T, N>{}, tolerance);
}

}  // namespace incontext::numerics
