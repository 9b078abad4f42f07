#pragma once

#include <cstddef>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/signed_logarithm.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring {

/// Scaled Signed Averaging: weights that grow like a power of the score instead of its exponential.
///
/// \f[ a_i = \frac{w(z_i/\tau)}{\sum_j w(z_j/\tau)}, \qquad w(z) = (1 + b|z|)^{\mathrm{sgn}(z)\,k}
///     = e^{\mathrm{sgn}(z)\, k \log(1 + b|z|)} \f]
///
/// Source    arXiv 2508.14685 eq. 5 (k is n there; tau = 1). Evaluation and derivatives: softmax_of.hpp.
/// Units     base times score over temperature, and exponent, are dimensionless.
/// Domain    base > 0, exponent >= 1, temperature > 0.
/// Limits    b = 1/k, k -> infinity: softmax; z -> c z, c -> infinity: proportional to z^k on the positive scores.
/// Errors    NaN weights and derivatives outside the domain. Not twice differentiable at z = 0.
/// Accuracy  as stated in softmax_of.hpp.
/// Runs on   host and device
template <Real T = double>
struct SSA {
  using value_type = T;
  T base = T(1);
  T exponent = T(1.5);
  T temperature = T(1);

  INCONTEXT_HD detail::SignedLogarithm<T> elementwise(std::ptrdiff_t) const {
    return {T(temperature / base), exponent, base, temperature};
  }
};

template <Real T>
SSA(T) -> SSA<T>;
template <Real T>
SSA(T, T) -> SSA<T>;
template <Real T>
SSA(T, T, T) -> SSA<T>;

/// Refuses a map outside its domain: base > 0, exponent >= 1, temperature > 0.
///
/// Source    arXiv 2508.14685.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const SSA<T>& map) {
  require_positive("scoring::validate", "base", map.base);
  require_positive("scoring::validate", "temperature", map.temperature);
  require_finite("scoring::validate", "exponent", map.exponent);
  if (!(T(1) <= map.exponent)) {
    throw_domain_error("scoring::validate", "exponent is below 1", map.exponent, "1 <= value < infinity");
  }
}

}  // namespace incontext::scoring
