#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// What the scores of linear attention are divided by: nothing, or the number of visible keys.
///
/// Runs on   host and device
enum class LinearNormalization { none, context_length };

/// Linear attention: the scores themselves are the weights, up to a factor.
///
/// \f[ a_i = \frac{z_i}{\tau c}, \qquad c \in \{1, n\} \f]
///
/// Masked scores are -infinity; their weights and derivatives are 0, and n is the number of the other scores. The form
/// that never builds the scores is `attend` in feature_attention.hpp.
///
/// Source    standard linear attention without feature map.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0. Weights are neither positive nor of sum 1.
/// Limits    temperature -> infinity: zero.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or temperature is outside the domain.
/// Runs on   host and device
template <Real T = double>
struct LinearAttention {
  using value_type = T;
  T temperature = T(1);
  LinearNormalization normalization = LinearNormalization::context_length;
};

template <Real T>
LinearAttention(T) -> LinearAttention<T>;
template <Real T>
LinearAttention(T, LinearNormalization) -> LinearAttention<T>;

namespace detail {

/// out_i = factor_i / (tau c) over the visible entries.
template <Real T>
INCONTEXT_HD void linear_attention_row(const LinearAttention<T>& map, Row<const T> scores, Row<const T> values,
                                       Row<T> out) {
  const std::ptrdiff_t visible = count_visible(scores);
  if (visible == 0 || !(T(0) < map.temperature)) return fill(out, math::not_a_number<T>());
  const T count = map.normalization == LinearNormalization::none ? T(1) : math::from_count<T>(visible);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = is_visible(scores[i]) ? T(values[i] / map.temperature / count) : T(0);
  }
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see LinearAttention.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const LinearAttention<T>& map, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  detail::linear_attention_row(map, scores, scores, out);
}

/// Jacobian times a direction: u / (tau c), because the Jacobian is a multiple of the identity.
///
/// Source    derived: docs/theory/scoring.md#linear-attention.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  8 eps relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const LinearAttention<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  detail::linear_attention_row(map, scores, direction, out);
}

/// Transposed Jacobian times a cotangent: the same as `jvp`.
///
/// Source    derived: docs/theory/scoring.md#linear-attention.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  8 eps relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const LinearAttention<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  detail::linear_attention_row(map, scores, cotangent, out);
}

/// Derivative of the weights with respect to the temperature: -z_i / (tau^2 c).
///
/// Source    derived: docs/theory/scoring.md#linear-attention.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void derivative(const LinearAttention<T>& map, parameter::Temperature,
                             Row<const std::type_identity_t<T>> scores, Row<std::type_identity_t<T>> out) {
  const std::ptrdiff_t visible = detail::count_visible(scores);
  if (visible == 0 || !(T(0) < map.temperature)) return detail::fill(out, math::not_a_number<T>());
  const T count = map.normalization == LinearNormalization::none ? T(1) : math::from_count<T>(visible);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T(-z / map.temperature / map.temperature / count) : T(0);
  }
}

/// Refuses a map outside its domain: temperature > 0, infinity allowed.
///
/// Source    the domain of LinearAttention.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const LinearAttention<T>& map) {
  require_above_zero("scoring::validate", "temperature", map.temperature);
}

}  // namespace incontext::scoring
