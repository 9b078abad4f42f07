#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// Two classes: their cells are hemispheres, and a query is at an angle above the boundary between them.
namespace incontext::classification {

/// How much larger the kernel's mean is on the query's side of the boundary than on the other side.
template <Real T>
struct HemisphereContrast {
  T relative;                     ///< Delta = B / A: the difference of the two means over their sum
  T logarithm;                    ///< log B, B = E sign(u.b) e^(kappa u.x), b normal to the boundary
  T partition_function_variance;  ///< Var[Z | boundary] / (n A^2) = v - Delta^2 with n/2 points per side
};

namespace detail {

template <Real T>
void require_boundary_angle(std::string_view where, const T& angle) {
  if (!(T(0) <= angle && angle <= boost::math::constants::half_pi<T>())) {
    throw_domain_error(where, "boundary_angle is out of range", angle, "0 <= value <= pi/2");
  }
}

/// The relative contrast Delta. The arguments have been checked.
template <Real T>
T relative_contrast(std::int64_t dimension, const T& kappa, const T& angle) {
  using std::cos;
  using std::exp;
  using std::log;
  using std::sin;
  using std::sqrt;
  const T reference = log_mean(dimension, kappa).scaled;
  const T width = T(1.5) / sqrt(T(T(1) + kappa * mean_resultant_length(dimension, kappa)));
  const T negligible = log(T(std::numeric_limits<T>::epsilon())) - T(5);
  const auto log_ratio = [&](const T& a) {
    const T c = cos(a), half = sin(T(a / T(2)));
    return T(log_mean(dimension + 1, T(kappa * c)).scaled - T(2) * kappa * half * half - reference);
  };
  std::vector<T> edges{T(0)};
  const T top = log_ratio(T(0));
  while (edges.back() < angle && negligible < log_ratio(edges.back()) - top) {
    const T next = edges.back() + width;
    edges.push_back(next < angle ? next : angle);
  }
  const T integral = panel_integral(edges, [&](const T& a) { return T(exp(log_ratio(a)) * cos(a)); });
  return sphere_constants<T>(dimension).mean_absolute * kappa * integral;
}

}  // namespace detail

/// The contrast of two classes at a query: the difference between the kernel's means over the points on the query's
/// side of the boundary and over those on the other side, divided by the sum of the two means.
///
/// \f[ \Delta = \frac{B_d}{A_d},\quad B_d(\kappa,\alpha) = E\,\mathrm{sign}(u\cdot b) e^{\kappa u\cdot x} =
///     m_d \kappa \int_0^\alpha A_{d+1}(\kappa\cos a) \cos a\,da \f]
///
/// Source    derived: docs/theory/classification.md#hemisphere-contrast; x.b = sin alpha, alpha = boundary_angle.
/// Units     boundary_angle in radians; the rest dimensionless.
/// Domain    dimension >= 2, kappa >= 0 in log_kernel_mean's domain, 0 <= boundary_angle <= pi/2.
/// Limits    kappa -> 0: Delta = m_d kappa sin alpha; narrow kernel near the boundary: erf(alpha sqrt(kappa/2));
///           on the boundary or at kappa = 0: Delta = 0, log B = -infinity.
/// Errors    std::invalid_argument for dimension, std::domain_error for values.
/// Accuracy  1e-12 relative in double for Delta (tests/classification/hemisphere_contrast.cpp).
template <Real T>
HemisphereContrast<T> hemisphere_contrast(std::int64_t dimension, const T& kappa, const T& boundary_angle) {
  using std::log;
  constexpr auto where = "classification::hemisphere_contrast";
  detail::require_dimension(where, dimension, 2);
  require_non_negative(where, "kappa", kappa);
  detail::require_concentration(where, kappa);
  detail::require_boundary_angle(where, boundary_angle);
  const T relative = detail::relative_contrast(dimension, kappa, boundary_angle);
  const T logarithm = T(0) < relative ? T(log(relative) + detail::log_mean(dimension, kappa).plain)
                                      : T(-std::numeric_limits<T>::infinity());
  return {relative, logarithm, detail::kernel_excess(dimension, kappa).value - relative * relative};
}

}  // namespace incontext::classification
