#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Closed forms of long contexts for two classes, in which noise decides only in a thin layer about the boundary.
///
/// Units     dimensionless; errors are shares of queries, gains in nats.
template <Real T>
struct TwoClassLayer {
  T contrast_slope;         ///< d Delta / d alpha at the boundary
  T noise_ratio;            ///< noise of kernel methods over the linear step's: their losses and errors have this ratio
  T linear_error;           ///< share of wrong predictions of the linear step
  T kernel_error;           ///< of kernel gradient descent and of the context-adaptive step
  T best_gain;              ///< c* of the adaptive step without the query's key
  T best_gain_with_query;   ///< c* with the query's key
  T mean_squared_contrast;  ///< E Delta^2 over queries
  T variance_ratio;         ///< Var Z of a balanced context over that of independent points
};

namespace detail {

/// E Delta^2 over queries by the Funk-Hecke formula: sum over odd l of N_l (b_l lambda_l / A)^2, all terms positive.
///
/// lambda_l / A is the product of the first l mean resultant lengths in dimensions d, d + 2, ... The sum is
/// evaluated from its last term by Horner's scheme, together with the continued fraction of those lengths.
template <Real T>
T mean_squared_contrast(std::int64_t dimension, const T& kappa) {
  const T d = T(static_cast<double>(dimension));
  const T above = contracting_dimension(
      d, kappa, [](const T&, const T& contraction) { return contraction <= std::numeric_limits<T>::epsilon() / T(8); });
  const auto pairs = static_cast<std::int64_t>(static_cast<double>(T(above - d)) / 4) + 2;
  T rho = resultant_bound(T(d / T(2) + T(static_cast<double>(2 * pairs))), kappa), sum = T(1);
  for (std::int64_t j = pairs - 1; j >= 0; --j) {  // l = 2 j + 1; rho in dimension d + 2 l + 2
    const T x = T(static_cast<double>(2 * j + 1));
    const T one_less = kappa / (d + T(2) * x + kappa * rho), step = rho * one_less;
    const T zero = x / (d + x);  // P_{l+1}(0) / P_{l-1}(0) of Gegenbauer's polynomials in d + 2, up to sign
    // N_{l+2} / N_l with N_l = (2 l + d - 2) / (l + d - 2) binom(l + d - 2, l)
    const T count =
        (T(2) * x + d + T(2)) / (T(2) * x + d - T(2)) * (x + d - T(2)) / (x + T(1)) * (x + d - T(1)) / (x + T(2));
    sum = T(1) + count * zero * zero * step * step * sum;
    rho = kappa / (d + T(2) * x - T(2) + kappa * one_less);
  }
  const T first = rho * sphere_constants<T>(dimension).mean_absolute;
  return d * first * first * sum;
}

}  // namespace detail

/// Leading order in 1/n for two classes: slopes, noise, errors, best gains, and the variance of the partition function.
///
/// \f[ \Delta'(0) = m_d \kappa \frac{A_{d+1}}{A_d},\quad \frac{r_\kappa}{r_0} = \frac{\sqrt{d v} A_d}{\kappa A_{d+1}},
///     \quad \mathrm{error} = \frac{d-1}{\sqrt{2\pi n d}} \frac{r_\kappa}{r_0},\quad c^* = \pi\sqrt{\frac{n}{3 v}}
///     \left(1 + [q]\frac{e^\kappa}{n A_d}\right) \f]
/// \f[ E \Delta^2 = A_d^{-2} \sum_{l\ odd} N_l (b_l \lambda_l)^2,\qquad \frac{\mathrm{Var} Z}{n A^2 v} =
///     1 - \frac{E\Delta^2}{v} \f]
///
/// Source    derived: docs/theory/classification.md#boundary-layer and #mean-squared-contrast; the noise ratio is below
///           1 for narrow kernels in two dimensions only. The variance is exact at any n.
/// Domain    dimension >= 2, 1e-150 <= kappa <= 1e12, context_length even; the errors and gains need sqrt(d/n) << 1.
/// Limits    kappa -> 0: noise ratio 1; kappa -> infinity: noise ratio ~ kappa^((d-3)/4), E Delta^2 -> 1; infinity or 0
///           where the value is outside the range of T.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa.
/// Accuracy  of the formulas, 1e-12 relative in double; of the errors as an approximation of 1 - kernel_accuracy,
///           (d + v)/(2 n) relative (tests/classification/two_class_layer.cpp).
template <Real T>
TwoClassLayer<T> two_class_layer(std::int64_t dimension, const T& kappa, std::int64_t context_length) {
  using std::exp;
  using std::sqrt;
  constexpr auto where = "classification::two_class_layer";
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  require_positive(where, "kappa", kappa);
  if (!(T(1e-150) <= kappa && kappa <= T(1e12))) {
    throw_domain_error(where, "kappa is out of range", kappa, "1e-150 to 1e12");
  }
  detail::require_balanced(where, context_length, 2);
  const T d = T(static_cast<double>(dimension)), n = T(static_cast<double>(context_length));
  const auto mean = detail::log_mean(dimension, kappa);
  const auto excess = detail::kernel_excess(dimension, kappa);
  const T v = excess.value;
  // where v overflows, its root may still be finite
  const T log_root = excess.log_second_moment / T(2);
  const T root = T(50) < excess.log_second_moment ? T(exp(log_root)) : T(sqrt(v));
  const T tilt = kappa * exp(T(detail::log_mean(dimension + 1, kappa).scaled - mean.scaled));  // kappa A_{d+1} / A_d
  const T pi = boost::math::constants::pi<T>();
  TwoClassLayer<T> layer{};
  layer.contrast_slope = sphere_constants<T>(dimension).mean_absolute * tilt;
  layer.noise_ratio = sqrt(d) * root / tilt;
  layer.linear_error = (d - T(1)) / sqrt(T(T(2) * pi * n * d));
  layer.kernel_error = layer.linear_error * layer.noise_ratio;
  layer.best_gain = pi * sqrt(T(n / T(3))) / root;
  layer.best_gain_with_query = T(50) < excess.log_second_moment
                                   ? T(layer.best_gain + pi / sqrt(T(T(3) * n)) * exp(T(-mean.scaled - log_root)))
                                   : T(layer.best_gain * (T(1) + exp(T(-mean.scaled)) / n));
  layer.mean_squared_contrast = detail::mean_squared_contrast(dimension, kappa);
  layer.variance_ratio = T(50) < excess.log_second_moment ? T(T(1) - layer.mean_squared_contrast / v)
                                                          : T((v - layer.mean_squared_contrast) / v);
  return layer;
}

}  // namespace incontext::classification
