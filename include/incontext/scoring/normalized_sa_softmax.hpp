#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/sa_softmax.hpp"

namespace incontext::scoring {

/// Self-adjusted softmax, second version.
///
/// \f[ a_i = r_i\, p_i, \qquad p = \mathrm{softmax}(z), \qquad r_i = \frac{z_i - \ell}{h - \ell}, \qquad
///     \ell = \min(\min z, 0), \; h = \max(\max z, 0) \f]
///
/// Source    arXiv 2502.18277, without the 1e-10 some code adds to the denominator.
/// Domain    any row with a visible score; masked scores are -infinity, with weight and derivative 0; 0 <= a_i <= p_i.
/// Limits    z = 0: zero weights, no derivative (NaN). Kinks where a score crosses the smallest, the largest or 0;
///           there the first smallest and largest score carry the derivative.
/// Errors    a row of NaN if no score is visible, or one is NaN or +infinity.
/// Runs on   host and device
template <Real T = double>
struct NormalizedSaSoftmax {
  using value_type = T;
};

namespace detail {

/// l and h, and the entries that attain them (-1: no entry does, and the value is 0).
template <Real T>
struct ScoreRange {
  T low = T(0);
  T high = T(0);
  std::ptrdiff_t lowest = -1;
  std::ptrdiff_t highest = -1;

  INCONTEXT_HD bool flat() const { return !(low < high); }
  INCONTEXT_HD T position(const T& z) const { return (z - low) / (high - low); }
  INCONTEXT_HD T complement(const T& z) const { return (high - z) / (high - low); }
};

template <Real T>
INCONTEXT_HD ScoreRange<T> range_of(Row<const T> scores) {
  ScoreRange<T> range;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    if (!is_visible(z)) continue;
    if (z < range.low) {
      range.low = z;
      range.lowest = i;
    }
    if (range.high < z) {
      range.high = z;
      range.highest = i;
    }
  }
  return range;
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see NormalizedSaSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (1 + |log(a_i / max a)|) relative: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const NormalizedSaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto range = detail::range_of(scores);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) && !range.flat() ? T(range.position(z) * pass.weight(z)) : T(0);
  }
}

/// Logarithms of the weights, log r_i + log p_i; -infinity where the weight is zero.
///
/// Source    see NormalizedSaSoftmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (1 + |log a_i|): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void log_weights(const NormalizedSaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                              Row<std::type_identity_t<T>> out) {
  using std::log;
  const auto pass = detail::plain_softmax_pass(scores);
  if (!pass.valid) return detail::fill(out, math::not_a_number<T>());
  const auto range = detail::range_of(scores);
  const T log_total = math::log_one_plus(pass.others);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    if (!detail::is_visible(z) || !(range.low < z)) {
      out[i] = T(-math::infinity<T>());
      continue;
    }
    const T position = range.position(z);
    out[i] = log(position) + (pass.relative(z) - log_total);
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ (J u)_i = p_i \dot r_i + r_i p_i (u_i - p \cdot u), \qquad
///     \dot r_i = \frac{u_i - (1 - r_i)\, \dot\ell - r_i\, \dot h}{h - \ell} \f]
///
/// The dotted symbols are changes along u; those of l and h are the u of the entries that attain them, or 0.
///
/// Source    derived: docs/theory/scoring.md#self-adjusted-softmax.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const NormalizedSaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> direction, Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  const auto range = detail::range_of(scores);
  if (!pass.valid || range.flat()) return detail::fill(out, math::not_a_number<T>());
  const T low_rate = range.lowest < 0 ? T(0) : direction[range.lowest];
  const T high_rate = range.highest < 0 ? T(0) : direction[range.highest];
  const auto change = pass.center(scores, [=](std::ptrdiff_t i) -> T { return direction[i]; });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T u = direction[i];
    const T r = range.position(z);
    const T rate = (range.complement(z) * (u - low_rate) + r * (u - high_rate)) / (range.high - range.low);
    out[i] = detail::is_visible(z) ? T(pass.weight(z) * (rate + r * change(i))) : T(0);
  }
}

/// Transposed Jacobian times a cotangent, in O(n).
///
/// \f[ (J^T g)_j = \frac{p_j g_j}{h - \ell} + p_j (r_j g_j - (p \circ r) \cdot g)
///     - \frac{[j = j_\ell] \sum_i p_i g_i (1 - r_i) + [j = j_h] \sum_i p_i g_i r_i}{h - \ell} \f]
///
/// Source    derived: docs/theory/scoring.md#self-adjusted-softmax.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max a / min a):
///           tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const NormalizedSaSoftmax<T>&, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  const auto pass = detail::plain_softmax_pass(scores);
  const auto range = detail::range_of(scores);
  if (!pass.valid || range.flat()) return detail::fill(out, math::not_a_number<T>());
  const T width = range.high - range.low;
  const auto change =
      pass.center(scores, [=](std::ptrdiff_t i) -> T { return range.position(scores[i]) * cotangent[i]; });
  // The extreme entries' own terms cancel their p g / (h - l) exactly: both are left out.
  const T low_gradient = pass.mean(scores, [=](std::ptrdiff_t i) -> T {
    return i == range.lowest ? T(0) : T(range.complement(scores[i]) * cotangent[i]);
  });
  const T high_gradient = pass.mean(scores, [=](std::ptrdiff_t i) -> T {
    return i == range.highest ? T(0) : T(range.position(scores[i]) * cotangent[i]);
  });
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T g = cotangent[i];
    const T own = i == range.lowest || i == range.highest ? T(0) : T(g / width);
    out[i] = detail::is_visible(z) ? T(pass.weight(z) * (own + change(i))) : T(0);
  }
  if (range.lowest >= 0) out[range.lowest] = out[range.lowest] - low_gradient / width;
  if (range.highest >= 0) out[range.highest] = out[range.highest] - high_gradient / width;
}

}  // namespace incontext::scoring
