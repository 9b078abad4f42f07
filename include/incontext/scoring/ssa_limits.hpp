#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"

/// Limits of SSA: as its scores grow it does not become a hardmax; as its exponent grows it becomes softmax.
namespace incontext::scoring {

/// SSA's weights as all scores grow by the same factor: a power law in the scores, where softmax becomes one-hot.
///
/// \f[ \lim_{c \to \infty} a_i(c z) = \frac{z_i^k [z_i > 0]}{\sum_{z_j > 0} z_j^k}, \quad \text{or uniform on } z_i = 0
///     \text{ if no } z_j > 0, \quad \text{or } \frac{|z_i|^{-k}}{\sum_j |z_j|^{-k}} \text{ if all } z_j < 0 \f]
///
/// Source    derived: docs/theory/scoring.md#ssa, from arXiv 2508.14685 eq. 5.
/// Shapes    (scores: n, out: n), out may be scores; masked scores are -infinity, with weight 0.
/// Units     dimensionless; base and temperature drop out.
/// Limits    n = 1: (1); k -> infinity: hardmax.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or a map is outside its domain.
/// Accuracy  4 eps (1 + k) relative: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void ssa_scale_limit(const SSA<T>& map, Row<const std::type_identity_t<T>> scores,
                                  Row<std::type_identity_t<T>> out);

/// First-order difference between SSA with b = 1 / k and softmax, for a large exponent k.
///
/// \f[ a_i = p_i - \frac{1}{2k}\, p_i (q_i - p \cdot q) + O(k^{-2}), \qquad q_i = \mathrm{sgn}(z_i) z_i^2, \;
///     p = \mathrm{softmax}(z) \f]
///
/// This is that second term, softmax's derivative along -q / (2k).
///
/// Source    derived: docs/theory/scoring.md#ssa.
/// Shapes    (scores: n, out: n), out apart from scores; masked scores are -infinity, with 0.
/// Units     dimensionless, the scores too.
/// Domain    exponent > 0.
/// Limits    equal scores or n = 1: 0.
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or exponent is outside the domain.
/// Accuracy  8 eps (1 + G) times the same sum with absolute values, G = log(max p / min p):
///           tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void ssa_softmax_correction(const T& exponent, Row<const std::type_identity_t<T>> scores,
                                         Row<std::type_identity_t<T>> out);

// The scores that keep weight under SSA as all scores grow.
namespace detail {

/// Which scores keep weight as all grow: those with the sign of the largest one (1, 0 or -1), and that one's size.
template <Real T>
struct SurvivingSign {
  int sign = -1;
  T size = T(0);

  INCONTEXT_HD bool holds(const T& z) const {
    if (sign > 0) return T(0) < z;
    return sign < 0 || !(z < T(0) || T(0) < z);
  }
  /// |z| / |z_r| to the power of the sign, at most 1.
  INCONTEXT_HD T ratio(const T& z) const {
    if (sign == 0) return T(1);
    return sign > 0 ? T(z / size) : T(size / -z);
  }
};

template <Real T>
INCONTEXT_HD SurvivingSign<T> surviving_sign(Row<const T> scores) {
  std::ptrdiff_t top = -1;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (is_visible(scores[i]) && (top < 0 || scores[top] < scores[i])) top = i;
  }
  const T z = scores[top];
  return {T(0) < z ? 1 : z < T(0) ? -1 : 0, math::magnitude(z)};
}

}  // namespace detail

template <Real T>
INCONTEXT_HD void ssa_scale_limit(const SSA<T>& map, Row<const std::type_identity_t<T>> scores,
                                  Row<std::type_identity_t<T>> out) {
  if (detail::count_visible(scores) == 0 || !map.elementwise(1).in_domain()) {
    return detail::fill(out, math::not_a_number<T>());
  }
  const auto surviving = detail::surviving_sign(scores);
  detail::Sum<T> sum;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    const bool holds = detail::is_visible(z) && surviving.holds(z);
    out[i] = holds ? math::power(T(surviving.ratio(z)), map.exponent) : T(0);
    sum.add(out[i]);
  }
  const T total = sum.value();
  for (std::ptrdiff_t i = 0; i < out.size; ++i) out[i] = out[i] / total;
}

template <Real T>
INCONTEXT_HD void ssa_softmax_correction(const T& exponent, Row<const std::type_identity_t<T>> scores,
                                         Row<std::type_identity_t<T>> out) {
  if (!(T(0) < exponent)) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    const T z = scores[i];
    out[i] = detail::is_visible(z) ? T(-z * (math::magnitude(z) / exponent) / T(2)) : T(0);
  }
  jvp(Softmax<T>{T(1)}, scores, out, out);
}

}  // namespace incontext::scoring
