#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

namespace detail {

/// n e_i, n times the error of a weight, from c_i and the surplus m - 1 = mean(e^c - 1 - c).
template <Real T>
INCONTEXT_HD T scaled_error(const T& c, const T& surplus) {
  return (math::exp_minus_one_minus(c) - surplus * (T(1) + c)) / (T(1) + surplus);
}

/// Whether e^c is so much larger than 1 + c that the plain difference loses nothing; the form above would overflow.
template <Real T>
INCONTEXT_HD bool is_far(const T& c) {
  return T(32) < c;
}

}  // namespace detail

/// Exact error of the approximate softmax, softmax minus its linearization, at the map's temperature.
///
/// \f[ n e_i = \frac{(e^{c_i} - 1 - c_i) - (m - 1)(1 + c_i)}{m}, \qquad c_i = \frac{z_i - \bar z}{\tau}, \;
///     m = \frac1n \sum_j e^{c_j} \f]
///
/// Source    derived: docs/theory/scoring.md#error-of-approximate-softmax. The mean of e^c - 1 - c is m - 1.
/// Shapes    (scores: n, out: n), out may be scores; masked scores are -infinity, with error 0.
/// Limits    equal scores: 0; n = 1: 0.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or temperature <= 0.
/// Accuracy  32 eps (c_i^2 + mean c^2) / n for rows with |c| <= 1; 32 eps (1 + |c_i|) otherwise:
///           tests/scoring/approximate_softmax_error_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void approximate_softmax_error(const ApproximateSoftmax<T>& map, Row<const std::type_identity_t<T>> scores,
                                            Row<std::type_identity_t<T>> out) {
  const auto center = detail::center_of(detail::as_grid(scores));
  const auto pass = detail::softmax_pass<T>(detail::Quotient<T>{map.temperature}, scores);
  if (!center.valid() || !pass.valid) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(center.count);
  const bool is_far = detail::is_far(T(center.deviation(pass.reference) / map.temperature));
  detail::Sum<T> sum;
  for (std::ptrdiff_t i = 0; !is_far && i < scores.size; ++i) {
    if (!detail::is_visible(scores[i])) continue;
    sum.add(math::exp_minus_one_minus(T(center.deviation(scores[i]) / map.temperature)));
  }
  const T surplus = sum.value() / count;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T c = center.deviation(z) / map.temperature;
    const T error = is_far ? T(pass.weight(z) - (T(1) + c) / count) : T(detail::scaled_error(c, surplus) / count);
    out[i] = detail::is_visible(z) ? error : T(0);
  }
}

/// Leading term of the error for small scores.
///
/// \f[ n e_i = \frac{c_i^2 - s^2}{2} + O(c^3), \qquad s^2 = \frac1n \sum_j c_j^2 \f]
///
/// Source    derived: docs/theory/scoring.md#error-of-approximate-softmax.
/// Shapes    (scores: n, out: n), out may be scores; masked scores are -infinity, with error 0.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or temperature <= 0.
/// Accuracy  8 eps (c_i^2 + s^2) / n: tests/scoring/approximate_softmax_error_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void approximate_softmax_leading_error(const ApproximateSoftmax<T>& map,
                                                    Row<const std::type_identity_t<T>> scores,
                                                    Row<std::type_identity_t<T>> out) {
  const auto center = detail::center_of(detail::as_grid(scores));
  if (!center.valid() || !(T(0) < map.temperature)) return detail::fill(out, math::not_a_number<T>());
  const T count = math::from_count<T>(center.count);
  detail::Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!detail::is_visible(scores[i])) continue;
    const T c = center.deviation(scores[i]) / map.temperature;
    sum.add(c * c);
  }
  const T variance = sum.value() / count;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const T c = center.deviation(z) / map.temperature;
    out[i] = detail::is_visible(z) ? T((c * c - variance) / T(2) / count) : T(0);
  }
}

}  // namespace incontext::scoring
