#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring {

/// Hessian of g . a by the scores, for a cotangent g of the weights, times a direction u, in O(n).
///
/// \f[ (H u)_i = a_i \Bigl( \phi''(z_i)\, u_i\, \hat g_i
///     + \phi'(z_i) \bigl( \hat t_i \hat g_i - \textstyle\sum_j a_j \hat t_j \hat g_j \bigr) \Bigr), \qquad
///     t_j = \phi'(z_j)\, u_j, \quad \hat x_i = x_i - a \cdot x \f]
///
/// It is the derivative of `vjp` along u, which a second backward pass needs for the scores; for the cotangent that
/// pass needs `jvp`. H is symmetric.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map. Where phi'' jumps (SSA at z = 0) its mean is taken.
/// Shapes    (scores: n, cotangent: n, direction: n, out: n), out may be one of them.
/// Units     those of g and u over the squared scores'.
/// Domain    as weights.
/// Limits    n = 1, equal g: (0).
/// Errors    NaN row, see the top of softmax_of.hpp.
/// Accuracy  the formula to 25 digits at 50 digits: tests/scoring/derivatives_50digits.cpp; in double 1e-12 of the
///           largest entry against second_derivative: tests/scoring/hessian_product.cpp.
/// Runs on   host and device
template <SoftmaxLike Map>
INCONTEXT_HD void hessian_product(const Map& map, Row<const Value<Map>> scores, Row<const Value<Map>> cotangent,
                                  Row<const Value<Map>> direction, Row<Value<Map>> out) {
  using T = Value<Map>;
  const auto pass = detail::read(map, scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto g = pass.center(scores, [=](std::ptrdiff_t i) -> T { return cotangent[i]; });
  const auto t = pass.center(scores, [=](std::ptrdiff_t i) -> T { return pass.phi.slope(scores[i]) * direction[i]; });
  const auto product = pass.center(scores, [=](std::ptrdiff_t i) -> T { return t(i) * g(i); });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    if (!detail::is_visible(z)) {
      out[i] = T(0);
      continue;
    }
    const T bend = pass.phi.curvature(z) * direction[i] * g(i);
    out[i] = pass.weight(z) * (bend + pass.phi.slope(z) * product(i));
  }
}

}  // namespace incontext::scoring
