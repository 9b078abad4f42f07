#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// How much the weights can move when the scores move: norms of P = diag(p) - p p^T at a row of weights, and Lipschitz
/// constants over all rows.
namespace incontext::scoring {

/// Norms of P = diag(p) - p p^T. A map's Jacobian at tau = 1 is P for softmax, beta P for SSMax, P diag(phi') for SSA.
///
/// \f[ \mathrm{tr} P = \sum_i p_i (1 - p_i), \quad \|P\|_F^2 = \sum_i p_i^2 (1 - p_i)^2 + \sum_{i \ne j} p_i^2 p_j^2,
///     \quad \|P\|_\infty = \|P\|_1 = \max_i 2 p_i (1 - p_i) \f]
/// \f[ \max_i p_i (1 - p_i) \le \|P\|_2 \le \min\{ \max_i p_i,\; 2 \max_i p_i (1 - p_i),\; 1/2 \} \f]
///
/// Source    derived: docs/theory/scoring.md#jacobian-norms.
/// Limits    one-hot p: all 0; uniform p: 1 - 1/n, sqrt(n-1)/n, 2 (n-1)/n^2, and ||P||_2 = 1/n.
/// Runs on   host and device
template <Real T>
struct JacobianNorms {
  T trace;
  T frobenius;
  T row_sum;  ///< induced by the maximum norm, and by the 1-norm
  T spectral_lower;
  T spectral_upper;
};

/// Norms of P at a row of weights.
///
/// Source    derived: docs/theory/scoring.md#jacobian-norms; 1 - p of the largest weight is the sum of the others.
/// Shapes    (weights: n) -> scalars
/// Domain    weights >= 0 that add up to 1; not checked.
/// Errors    NaN for an empty row or a NaN weight.
/// Accuracy  16 eps relative, if the small weights have it: tests/scoring/jacobian_norms.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD JacobianNorms<T> jacobian_norms(Row<const T> weights) {
  using std::sqrt;
  const T nan = math::not_a_number<T>();
  if (weights.size == 0) return {nan, nan, nan, nan, nan};
  std::ptrdiff_t top = 0;
  for (std::ptrdiff_t i = 0; i < weights.size; ++i) {
    if (!math::is_finite(weights[i])) return {nan, nan, nan, nan, nan};
    if (weights[top] < weights[i]) top = i;
  }
  detail::Sum<T> others, squares, fourths;
  for (std::ptrdiff_t i = 0; i < weights.size; ++i) {
    if (i == top) continue;
    const T square = weights[i] * weights[i];
    others.add(weights[i]);
    squares.add(square);
    fourths.add(square * square);
  }
  const T largest = weights[top];
  const T rest = others.value();
  detail::Sum<T> trace, diagonal;
  T widest = T(0);
  for (std::ptrdiff_t i = 0; i < weights.size; ++i) {
    const T variance = weights[i] * (i == top ? rest : T(T(1) - weights[i]));
    trace.add(variance);
    diagonal.add(variance * variance);
    if (widest < variance) widest = variance;
  }
  const T small_squares = squares.value();
  T small_pairs = small_squares * small_squares - fourths.value();
  if (small_pairs < T(0)) small_pairs = T(0);
  const T pairs = T(2) * largest * largest * small_squares + small_pairs;
  T upper = T(2) * widest < largest ? T(T(2) * widest) : largest;
  if (T(0.5) < upper) upper = T(0.5);
  return {trace.value(), sqrt(T(diagonal.value() + pairs)), T(2) * widest, widest, upper};
}

/// Lipschitz constant of the weights in the scores (2-norm to 2-norm), over all rows of any length.
///
/// \f[ \frac{1}{2\tau} \f]
///
/// Source    Nair 2025 (every p-norm); attained at two equal scores, n = 2.
/// Units     one over the scores.
/// Domain    as the map's.
/// Errors    NaN outside the domain.
/// Accuracy  eps relative: tests/scoring/jacobian_norms.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T lipschitz_constant(const Softmax<T>& map) {
  return T(0) < map.temperature ? T(T(1) / (T(2) * map.temperature)) : math::not_a_number<T>();
}

/// Lipschitz constant of SSMax on rows of n visible scores: |s log n + b| / 2.
///
/// Source    as softmax, with inverse temperature s log n + b.
/// Units     one over the scores.
/// Domain    n >= 1.
/// Errors    NaN outside the domain.
/// Accuracy  2 eps relative to |s| log n + |b|: tests/scoring/jacobian_norms.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T lipschitz_constant(const SSMax<T>& map, std::ptrdiff_t visible_count) {
  const auto phi = map.elementwise(visible_count);
  return phi.in_domain() ? T(math::magnitude(phi.factor) / T(2)) : math::not_a_number<T>();
}

/// Lipschitz constant of SSA: k b / (2 tau), as the slope of phi is largest at 0.
///
/// Source    derived: docs/theory/scoring.md#jacobian-norms; attained at scores (0, 0).
/// Units     one over the scores.
/// Domain    as the map's.
/// Errors    NaN outside the domain.
/// Accuracy  4 eps relative: tests/scoring/jacobian_norms.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T lipschitz_constant(const SSA<T>& map) {
  const auto phi = map.elementwise(1);
  return phi.in_domain() ? T(phi.slope(T(0)) / T(2)) : math::not_a_number<T>();
}

/// Spectral norm of the Jacobian of approximate softmax on rows of n >= 2 visible scores: 1 / (n tau); 0 for n = 1.
///
/// Source    derived: docs/theory/scoring.md#jacobian-norms; the Jacobian is a projection over n tau.
/// Units     one over the scores.
/// Domain    n >= 1, temperature > 0.
/// Errors    NaN outside the domain.
/// Accuracy  2 eps relative: tests/scoring/jacobian_norms.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T lipschitz_constant(const ApproximateSoftmax<T>& map, std::ptrdiff_t visible_count) {
  if (visible_count < 1 || !(T(0) < map.temperature)) return math::not_a_number<T>();
  if (visible_count == 1) return T(0);
  return T(1) / (math::from_count<T>(visible_count) * map.temperature);
}

/// Lipschitz constant of sparsemax: 1, because sparsemax is a projection.
///
/// Source    Martins & Astudillo 2016.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T lipschitz_constant(const Sparsemax<T>&) {
  return T(1);
}

}  // namespace incontext::scoring
