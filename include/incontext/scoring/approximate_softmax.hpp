#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// Approximate (linearized) softmax: the first-order Taylor expansion of softmax at equal scores.
///
/// \f[ a_i = \frac1n \Bigl(1 + \frac{z_i - \bar z}{\tau}\Bigr) \f]
///
/// Masked scores are -infinity; their weights and derivatives are 0, and n is the number of the other scores.
///
/// Source    first-order expansion of arXiv 2310.12956 eq. 1 at a constant row.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0. A weight is negative iff z_i is more than tau below the mean.
/// Limits    temperature -> infinity: uniform; n = 1: (1).
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or temperature is outside the domain.
/// Runs on   host and device
template <Real T = double>
struct ApproximateSoftmax {
  using value_type = T;
  T temperature = T(1);
};

template <Real T>
ApproximateSoftmax(T) -> ApproximateSoftmax<T>;

/// Weights of one row; the mean is subtracted first.
///
/// Source    see ApproximateSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (max|a| + 1/n): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const ApproximateSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const auto center = detail::center_of(detail::as_grid(scores));
  if (!center.valid() || !(T(0) < map.temperature)) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(center.count);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T((T(1) + center.deviation(z) / map.temperature) / count) : T(0);
  }
}

/// Jacobian times a direction, in O(n); the Jacobian is the centering projection over n tau.
///
/// \f[ (J u)_i = \frac{u_i - \bar u}{n \tau} \f]
///
/// Source    derived: docs/theory/scoring.md#approximate-softmax.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  8 eps times the same sum with absolute values: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const ApproximateSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  const auto center = detail::center_of(detail::as_grid(scores), detail::as_grid(direction));
  if (center.count == 0 || !(T(0) < map.temperature)) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(center.count);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T change = center.deviation(direction[i]);
    out[i] = detail::is_visible(scores[i]) ? T(change / map.temperature / count) : T(0);
  }
}

/// Transposed Jacobian times a cotangent: the same as `jvp`, because the Jacobian is symmetric.
///
/// Source    derived: docs/theory/scoring.md#approximate-softmax.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  as jvp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const ApproximateSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  jvp(map, scores, cotangent, out);
}

/// Derivative of the weights with respect to the temperature.
///
/// \f[ \frac{\partial a_i}{\partial \tau} = -\frac{z_i - \bar z}{n \tau^2} \f]
///
/// Source    derived: docs/theory/scoring.md#approximate-softmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (|d a_i| + |a_i| max|d a|): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void derivative(const ApproximateSoftmax<T>& map, parameter::Temperature,
                             Row<const std::type_identity_t<T>> scores, Row<std::type_identity_t<T>> out) {
  const auto center = detail::center_of(detail::as_grid(scores));
  if (!center.valid() || !(T(0) < map.temperature)) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(center.count);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T(-center.deviation(z) / map.temperature / map.temperature / count) : T(0);
  }
}

/// Refuses a map outside its domain: temperature > 0, infinity allowed.
///
/// Source    the domain of ApproximateSoftmax.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const ApproximateSoftmax<T>& map) {
  require_above_zero("scoring::validate", "temperature", map.temperature);
}

}  // namespace incontext::scoring
