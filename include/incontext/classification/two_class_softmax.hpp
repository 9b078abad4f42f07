#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/detail/signed_sum_integral.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Mean logit difference of the context-adaptive step over balanced contexts of two classes, exact at any length.
///
/// \f[ c\, E\frac{Z_+ - Z_-}{Z_+ + Z_- + [q] e^\kappa} = c \int_0^\infty \frac n2 e^{-q t}\left[
///     \psi_+ \varphi_+^{n/2-1} \varphi_-^{n/2} - \psi_- \varphi_-^{n/2-1} \varphi_+^{n/2}\right] dt \f]
/// \f[ \varphi_\pm = E[e^{-t w}|\pm],\quad \psi_\pm = E[w e^{-t w}|\pm],\quad
///     P(+|\theta) = \tfrac12\left[1 + \mathrm{sign}(\cos\theta) I_{\min(1,\tan^2\alpha\cot^2\theta)}
///     (\tfrac12, \tfrac{d-2}{2})\right] \f]
///
/// Source    derived: docs/theory/classification.md#exact-logit-difference.
/// Units     gain = c in nats.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), 0 <= boundary_angle <= pi/2,
///           context_length even.
/// Limits    kappa = 0 or boundary_angle = 0: 0; kappa -> 0: c kappa m_d sin(alpha) n/(n + q); n -> infinity: c Delta.
/// Errors    std::invalid_argument for counts, std::domain_error for values; numerics::QuadratureError.
/// Accuracy  1e-10 relative in double (tests/classification/two_class_softmax.cpp).
template <Real T>
T expected_adaptive_logit_difference(std::int64_t dimension, const T& kappa, const T& boundary_angle,
                                     std::int64_t context_length, const T& gain, QueryToken query) {
  using std::exp;
  using std::log;
  using std::sin;
  using std::sqrt;
  constexpr auto where = "classification::expected_adaptive_logit_difference";
  detail::require_two_classes(where, dimension, kappa, boundary_angle, context_length);
  detail::require_partition_function_law(where, dimension, kappa, query);
  require_finite(where, "gain", gain);
  if (!(T(0) < kappa && T(0) < boundary_angle)) return T(0);
  const T n = T(static_cast<double>(context_length)), self = query == QueryToken::included ? T(1) : T(0);
  const T little = exp(T(log(T(std::numeric_limits<T>::epsilon())) / T(3)));
  if (kappa < little) {  // correct up to kappa^2, because the weights are nearly equal
    return gain * (kappa * (n / (n + self * exp(kappa)))) * sphere_constants<T>(dimension).mean_absolute *
           sin(boundary_angle);
  }
  const T linear = little / sqrt(T(T(1) + kappa));  // below this angle the mean is proportional to its sine
  if (boundary_angle < linear) {
    return expected_adaptive_logit_difference(dimension, kappa, linear, context_length, gain, query) *
           (sin(boundary_angle) / sin(linear));
  }
  const detail::SignedSumIntegrand<T> integrand(dimension, kappa, boundary_angle, n, self);
  const T log_least = T(0) < self ? T(0) : T(log(n) - T(2) * kappa);
  const detail::LocatedIntegrals<T> integrals(log_least, log(T(n + self)));
  std::vector<T> sizes;
  for (const T& s : integrals.grid()) {
    const T value = integrand(s);
    sizes.push_back(T(0) < value ? T(log(value)) : T(-std::numeric_limits<T>::infinity()));
  }
  return gain * integrals(where, sizes, integrand);
}

}  // namespace incontext::classification
