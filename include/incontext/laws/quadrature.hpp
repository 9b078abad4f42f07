#pragma once

#include <boost/math/quadrature/trapezoidal.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "incontext/core/real.hpp"

namespace incontext::laws {

/// A numerical integral and an estimate of its error.
///
/// Units     as the integral.
template <Real T>
struct Quadrature {
  T value;
  T error_estimate;  ///< change at the last halving of the step; the error is far smaller
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
///
/// Units     dimensionless.
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
/// Accuracy  estimate against known integrals: tests/laws/quadrature.cpp.
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

}  // namespace incontext::laws
