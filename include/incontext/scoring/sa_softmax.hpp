#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// Self-adjusted softmax, first version.
///
/// \f[ a_i = z_i\, p_i, \qquad p = \mathrm{softmax}(z) \f]
///
/// Source    arXiv 2502.18277.
/// Units     of the scores.
/// Domain    any row with a visible score; masked scores are -infinity, with weight and derivative 0.
/// Limits    n = 1: (z). The sum is p . z, which may be negative.
/// Errors    a row of NaN if no score is visible, or one is NaN or +infinity.
/// Runs on   host and device
template <Real T = double>
struct SaSoftmax {
  using value_type = T;
};

namespace detail {

template <Real T>
INCONTEXT_HD auto plain_softmax_pass(Row<const T> scores) {
  return softmax_pass<T>(Quotient<T>{T(1)}, scores);
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see SaSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (1 + |log|a_i / max a||) relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const SaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T(z * pass.weight(z)) : T(0);
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ J u = p \circ u + z \circ p \circ (u - p \cdot u) \f]
///
/// Source    derived: docs/theory/scoring.md#self-adjusted-softmax.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const SaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return direction[i]; });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T u = direction[i];
    out[i] = detail::is_visible(z) ? T(pass.weight(z) * (u + z * change(i))) : T(0);
  }
}

/// Transposed Jacobian times a cotangent, in O(n).
///
/// \f[ J^T g = p \circ g + p \circ (h - p \cdot h), \qquad h = z \circ g \f]
///
/// Source    derived: docs/theory/scoring.md#self-adjusted-softmax.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const SaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return scores[i] * cotangent[i]; });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T g = cotangent[i];
    out[i] = detail::is_visible(z) ? T(pass.weight(z) * (g + change(i))) : T(0);
  }
}

}  // namespace incontext::scoring
