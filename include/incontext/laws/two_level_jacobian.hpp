#pragma once

#include <cmath>

#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"

namespace incontext::laws {

/// Softmax's Jacobian P = diag(a) - a a^T at a row with one weight p and n - 1 equal ones, and the row's entropy.
///
/// Units     dimensionless; entropy in nats.
template <Real T>
struct TwoLevelJacobian {
  T spectral_norm;
  T squared_frobenius;
  T trace;
  T entropy;
};

/// Norms of softmax's Jacobian from uniform to peaked attention. They are not functions of the entropy alone.
///
/// \f[ \lambda_1 = \frac{n p (1-p)}{n-1},\quad \lambda_2 = \frac{1-p}{n-1}\ (n - 2\ \text{times}),\quad
///     H = -p \log p - (1-p) \log(1-p) + (1-p) \log(n-1) \f]
///
/// lambda_1 and lambda_2 are the eigenvalues of P other than 0; p = weight and n = row_length.
///
/// Source    derived: docs/theory/laws.md#two-level-jacobian.
/// Domain    row_length >= 2, 0 <= weight <= 1.
/// Limits    weight = 1/n: |P|_2 = 1/n = e^-H; weight -> 1: all vanish, linearly in 1 - p.
/// Errors    std::domain_error for row_length or weight outside the domain.
/// Accuracy  8 eps relative: tests/laws/two_level_jacobian.cpp.
template <Real T>
TwoLevelJacobian<T> two_level_jacobian(const Count<T>& row_length, const T& weight) {
  const T& n = row_length;
  using std::log;
  detail::require_count("laws::two_level_jacobian", "row_length", n, 2);
  if (!(T(0) <= weight && weight <= T(1))) {
    throw_domain_error("laws::two_level_jacobian", "weight is not between 0 and 1", weight, "0 <= value <= 1");
  }
  const T others = n - T(1), rest = T(1) - weight, low = rest / others;
  const T spike = weight * low * n;
  const T flat = T(2) < n ? low : T(0);
  TwoLevelJacobian<T> j{};
  j.spectral_norm = spike < flat ? flat : spike;
  j.squared_frobenius = spike * spike + (n - T(2)) * low * low;
  j.trace = spike + (n - T(2)) * low;
  const T spike_part = T(0) < weight ? T(-weight * log(weight)) : T(0);
  j.entropy = spike_part + (T(0) < rest ? T(-rest * log(low)) : T(0));
  return j;
}

}  // namespace incontext::laws
