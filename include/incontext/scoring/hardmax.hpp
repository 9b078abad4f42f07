#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// Hardmax: uniform weights on the set of largest scores.
///
/// \f[ a_i = \frac{1\{z_i = \max z\}}{\#\{j : z_j = \max z\}} \f]
///
/// Source    limit of softmax for temperature -> 0 and of SSMax for n -> infinity; ties shared.
/// Domain    any row with a visible score; masked scores are -infinity.
/// Limits    n = 1: (1). Invariant under z -> c z + d, c > 0.
/// Errors    a row of NaN if no score is visible, or one is NaN or +infinity.
/// Runs on   host and device
template <Real T = double>
struct Hardmax {
  using value_type = T;
};

namespace detail {

/// Number of scores that are equal to the largest one; 0 for an invalid row.
template <Real T>
struct Largest {
  std::ptrdiff_t count = 0;
  T score = T(0);
};

template <Real T>
INCONTEXT_HD Largest<T> largest_of(Row<const T> scores) {
  Largest<T> largest;
  if (count_visible(scores) == 0) return largest;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!is_visible(scores[i])) continue;
    if (largest.count == 0 || largest.score < scores[i]) {
      largest = {1, scores[i]};
    } else if (largest.score <= scores[i]) {
      ++largest.count;
    }
  }
  return largest;
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see Hardmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  exact up to the rounding of 1 / count: tests/scoring/hardmax.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void weights(const Hardmax<T>&, Row<const std::type_identity_t<T>> scores,
                          Row<std::type_identity_t<T>> out) {
  const auto largest = detail::largest_of(scores);
  if (largest.count == 0) return detail::fill(out, math::not_a_number<T>());
  const T share = T(1) / math::from_count<T>(largest.count);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) out[i] = largest.score <= scores[i] ? share : T(0);
}

/// Logarithms of the weights: -log(count) on the largest scores, -infinity elsewhere.
///
/// Source    see Hardmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  2 eps relative: tests/scoring/hardmax.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void log_weights(const Hardmax<T>&, Row<const std::type_identity_t<T>> scores,
                              Row<std::type_identity_t<T>> out) {
  using std::log;
  const auto largest = detail::largest_of(scores);
  if (largest.count == 0) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(largest.count);
  const T share = largest.count == 1 ? T(0) : T(-log(count));
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = largest.score <= scores[i] ? share : T(-math::infinity<T>());
  }
}

/// Jacobian times a direction: zero where the largest score is unique; NaN at a tie, where no Jacobian exists.
///
/// Source    derived: docs/theory/scoring.md#hardmax.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  exact: tests/scoring/hardmax.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void jvp(const Hardmax<T>&, Row<const std::type_identity_t<T>> scores, Row<const std::type_identity_t<T>>,
                      Row<std::type_identity_t<T>> out) {
  const auto largest = detail::largest_of(scores);
  detail::fill(out, largest.count == 1 ? T(0) : math::not_a_number<T>());
}

/// Transposed Jacobian times a cotangent: the same as `jvp`.
///
/// Source    derived: docs/theory/scoring.md#hardmax.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  exact: tests/scoring/hardmax.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void vjp(const Hardmax<T>& map, Row<const std::type_identity_t<T>> scores,
                      Row<const std::type_identity_t<T>> cotangent, Row<std::type_identity_t<T>> out) {
  jvp(map, scores, cotangent, out);
}

}  // namespace incontext::scoring
