#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/bessel_mean.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// The kernel e^(kappa u.x) averaged over the unit sphere: u uniform in dimension d, x any unit vector.
namespace incontext::classification {

/// Logarithm of the mean of the kernel between independent uniform points of the unit sphere.
///
/// \f[ \log A_d(\kappa) = \log E\, e^{\kappa u\cdot x} = \log\left[\Gamma(d/2) (2/\kappa)^{\nu} I_\nu(\kappa)\right],
///     \quad \nu = d/2 - 1 \f]
///
/// Source    derived: docs/theory/classification.md#kernel-mean; power series, Hankel's or Debye's expansion.
/// Units     dimensionless; kappa = 1/sigma^2 for an RBF kernel of width sigma.
/// Domain    dimension >= 1, |kappa| at most a sixteenth of the largest T; even in kappa.
/// Limits    kappa -> 0: kappa^2/(2 d); kappa -> infinity: kappa - (d-1)/2 log(kappa) + constant.
/// Errors    std::invalid_argument for dimension, std::domain_error for kappa.
/// Accuracy  relative, 16 eps for float and double, d to 1e6 and kappa to 1e9
///           (tests/classification/kernel_mean_50digits.cpp).
template <Real T>
T log_kernel_mean(std::int64_t dimension, const T& kappa) {
  require_at_least("classification::log_kernel_mean", "dimension", dimension, std::int64_t{1});
  detail::require_concentration("classification::log_kernel_mean", kappa);
  return detail::log_mean(dimension, kappa < T(0) ? T(-kappa) : kappa).plain;
}

/// Mean of the kernel between independent uniform points of the unit sphere.
///
/// \f[ A_d(\kappa) = E\, e^{\kappa u\cdot x} = {}_0F_1(; d/2; \kappa^2/4) \f]
///
/// Source    derived: docs/theory/classification.md#kernel-mean.
/// Units     dimensionless.
/// Domain    as log_kernel_mean.
/// Limits    kappa = 0: 1; infinity where the value exceeds the range of T.
/// Errors    as log_kernel_mean.
/// Accuracy  log A times that of log_kernel_mean.
template <Real T>
T kernel_mean(std::int64_t dimension, const T& kappa) {
  using std::exp;
  return exp(log_kernel_mean(dimension, kappa));
}

/// The mean resultant length of the von Mises-Fisher law, which is the mean cosine to the query under the kernel's
/// weights.
///
/// \f[ \rho_d(\kappa) = \frac{A_d'(\kappa)}{A_d(\kappa)} = \frac{I_{d/2}(\kappa)}{I_{d/2-1}(\kappa)} =
///     \frac{\kappa}{d + \kappa\,\rho_{d+2}(\kappa)} \f]
///
/// Source    Mardia & Jupp, Directional Statistics, A.5; the continued fraction is evaluated backward from Amos' upper
///           bound, whose error at order m is below (m + 1) / max(m, kappa)^2; each step multiplies the error by less
///           than rho^2.
/// Units     dimensionless.
/// Domain    as log_kernel_mean, dimension <= 1e15; odd in kappa.
/// Limits    kappa -> 0: kappa/d; kappa -> infinity: 1.
/// Errors    as log_kernel_mean.
/// Accuracy  16 eps relative for kappa <= 1e5 (tests/classification/kernel_mean_50digits.cpp), 32 eps beyond
///           (tests/classification/extreme_arguments.cpp).
template <Real T>
T mean_resultant_length(std::int64_t dimension, const T& kappa) {
  detail::require_dimension("classification::mean_resultant_length", dimension, 1);
  detail::require_concentration("classification::mean_resultant_length", kappa);
  if (kappa < T(0)) return -mean_resultant_length(dimension, T(-kappa));
  if (!(T(0) < kappa)) return kappa;
  const T d = T(static_cast<double>(dimension)), rounding = std::numeric_limits<T>::epsilon() / T(8);
  if (T(32) * d * d + T(2.0 * std::numeric_limits<T>::digits) < kappa) return detail::resultant_far(d, kappa);
  T above = detail::contracting_dimension(d, kappa, [&](const T& at, const T& contraction) {
    const T order = (at - T(1)) / T(2), size = order < kappa ? kappa : order;
    const T error = (order + T(1)) / size / size;
    return contraction * (error < T(1) ? error : T(1)) <= rounding;
  });
  T rho = detail::resultant_bound(T((above - T(1)) / T(2)), kappa);
  for (above -= T(2); d <= above; above -= T(2)) rho = kappa / (above + kappa * rho);
  return rho;
}

}  // namespace incontext::classification
