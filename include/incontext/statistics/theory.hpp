#pragma once

#include <cmath>

#include "incontext/core/floating_point.hpp"

namespace incontext::statistics {

/// A theory's value and a bound on its own error. It is made from a number, from {value, error}, or from a result with
/// members value and error_estimate, such as laws::Quadrature.
///
/// Units     error in that of the value.
struct Theory {
  double value;
  double error = 0;

  Theory(double theory, double theory_error = 0) : value(theory), error(std::abs(theory_error)) {}
  template <class Result>
    requires requires(const Result& result) {
      static_cast<double>(result.value);
      static_cast<double>(result.error_estimate);
    }
  Theory(const Result& result)
      : Theory(static_cast<double>(result.value), static_cast<double>(result.error_estimate)) {}
};

}  // namespace incontext::statistics
