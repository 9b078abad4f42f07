#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/entmax_pass.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// alpha-entmax: for alpha > 1 sparse weights between softmax (alpha -> 1) and a projection onto the simplex (alpha = 2);
/// for alpha < 1 weights that fall more slowly than softmax's, like a power of the score, and are never 0.
///
/// \f[ a_i = \max\bigl((\alpha - 1) z_i - t, 0\bigr)^{1/(\alpha - 1)}, \qquad t: \textstyle\sum_i a_i = 1 \f]
///
/// Masked scores are -infinity; their weights and derivatives are 0. The threshold is found without sorting, in place.
///
/// Source    Martins & Astudillo 2016 (alpha = 2); arXiv 1905.05702; arXiv 1909.00015.
/// Units     dimensionless, the scores too.
/// Domain    alpha > 0, finite, not 1; t is below every (alpha - 1) z_i if alpha < 1.
/// Limits    n = 1: (1); alpha -> 1: softmax; for alpha > 1 one-hot iff the gap of the two largest scores is at least 1 / (alpha - 1).
/// Errors    a row of NaN if no score is visible, one is NaN or +infinity, or alpha is outside the domain.
/// Runs on   host and device
template <Real T = double>
struct Entmax {
  using value_type = T;
  T alpha = T(1.5);
};

template <Real T>
Entmax(T) -> Entmax<T>;

/// Sparsemax, the Euclidean projection of the scores onto the simplex: alpha-entmax with alpha = 2.
///
/// Source    Martins & Astudillo 2016.
/// Domain    as Entmax.
/// Limits    as Entmax.
/// Errors    as Entmax.
/// Runs on   host and device
template <Real T = double>
struct Sparsemax {
  using value_type = T;
};

/// Entmax or Sparsemax.
///
/// Runs on   host and device
template <class Map>
concept EntmaxLike =
    std::is_same_v<Map, Entmax<typename Map::value_type>> || std::is_same_v<Map, Sparsemax<typename Map::value_type>>;

namespace detail {

template <EntmaxLike Map>
INCONTEXT_HD auto read(const Map& map, Row<const typename Map::value_type> scores) {
  using T = typename Map::value_type;
  if constexpr (std::is_same_v<Map, Sparsemax<T>>) {
    return entmax_pass(T(2), scores);
  } else {
    return entmax_pass(map.alpha, scores);
  }
}

}  // namespace detail

/// Weights of one row.
///
/// Source    see Entmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps (1 + 1 / (alpha - 1)) absolute, and 8 eps (1 + G), G = log(max a / min a), where |alpha - 1| log n is at
///           most 1/2 (tests/scoring/entmax.cpp); for alpha > 2 a weight at the edge of the support is only Hoelder
///           continuous in the scores, with exponent 1 / (alpha - 1) < 1: tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD void weights(const Map& map, Row<const typename Map::value_type> scores,
                          Row<typename Map::value_type> out) {
  using T = typename Map::value_type;
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = detail::is_visible(scores[i]) ? pass.weight(scores[i]) : T(0);
  }
}

/// Logarithms of the weights; -infinity outside the support.
///
/// Source    see Entmax.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  8 eps ((1 + 1 / (alpha - 1)) / a_i + |log a_i|): tests/scoring/accuracy_maps_50digits.cpp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD void log_weights(const Map& map, Row<const typename Map::value_type> scores,
                              Row<typename Map::value_type> out) {
  using T = typename Map::value_type;
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    out[i] = detail::is_visible(scores[i]) ? pass.log_weight(scores[i]) : T(-math::infinity<T>());
  }
}

/// Jacobian times a direction, in O(n).
///
/// \f[ (J u)_i = s_i \Bigl( u_i - \frac{s \cdot u}{\sum_j s_j} \Bigr), \qquad s_i = a_i^{2 - \alpha}
///     \;\text{on the support, 0 outside} \f]
///
/// Source    arXiv 1905.05702. At the edge of the support the derivative with the smaller support is taken.
/// Shapes    (scores: n, direction: n, out: n), out may be scores or direction.
/// Accuracy  64 eps (1 + 1 / (alpha - 1)) (1 + G) times the same sum with absolute values, G = log(max a / min a) on
///           the support: tests/scoring/accuracy_maps_50digits.cpp, near alpha = 1 tests/scoring/entmax.cpp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD void jvp(const Map& map, Row<const typename Map::value_type> scores,
                      Row<const typename Map::value_type> direction, Row<typename Map::value_type> out) {
  using T = typename Map::value_type;
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  pass.write_centered(scores, out, [=](std::ptrdiff_t i) -> T { return direction[i]; });
}

/// Transposed Jacobian times a cotangent: the same as `jvp`, because the Jacobian is symmetric.
///
/// Source    arXiv 1905.05702.
/// Shapes    (scores: n, cotangent: n, out: n), out may be scores or cotangent.
/// Accuracy  as jvp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD void vjp(const Map& map, Row<const typename Map::value_type> scores,
                      Row<const typename Map::value_type> cotangent, Row<typename Map::value_type> out) {
  jvp(map, scores, cotangent, out);
}

/// Derivative of the weights with respect to alpha, at fixed support.
///
/// \f[ \frac{\partial a_i}{\partial \alpha} = \frac{s_i}{(\alpha - 1)^2} \Bigl( \frac{s \cdot r}{\sum_j s_j} - r_i
///     \Bigr), \qquad r_i = 1 - x_i + x_i \log x_i, \; x_i = a_i^{\alpha - 1} \f]
///
/// Source    arXiv 1909.00015, regrouped so that the two terms of order (alpha - 1)^-2 there, which cancel, are one.
/// Shapes    (scores: n, out: n), out may be scores.
/// Limits    alpha -> 1: softmax's second-order response, finite.
/// Accuracy  512 eps (1 + 1 / (alpha - 1)) (1 + G) times |d a_i| + a_i max|d a|:
///           tests/scoring/accuracy_maps_50digits.cpp, near alpha = 1 tests/scoring/entmax.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD void derivative(const Entmax<T>& map, parameter::Alpha, Row<const std::type_identity_t<T>> scores,
                             Row<std::type_identity_t<T>> out) {
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return detail::fill(out, math::not_a_number<T>());
  pass.write_centered(scores, out, [=](std::ptrdiff_t i) -> T {
    return -math::relative_entropy_term(pass.excess_above_one(scores[i])) / pass.slope / pass.slope;
  });
}

/// Refuses a map outside its domain: alpha > 0, not 1.
///
/// Source    arXiv 1905.05702.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const Entmax<T>& map) {
  if (!detail::in_domain_of_entmax(map.alpha)) {
    throw_domain_error("scoring::validate", "alpha is 1, not positive or not finite", map.alpha,
                       "0 < value < 1 or 1 < value < infinity; at 1 use Softmax");
  }
}

/// Which scores of a row entmax gives weight to: those above threshold / (alpha - 1), and all if alpha < 1.
///
/// Source    arXiv 1905.05702.
/// Units     threshold in units of (alpha - 1) times a score.
/// Runs on   host and device
template <Real T>
struct EntmaxSupport {
  T threshold;
  std::ptrdiff_t size;
};

/// Threshold and support of alpha-entmax on one row.
///
/// \f[ t: \; \sum_i \max\bigl((\alpha - 1) z_i - t, 0\bigr)^{1/(\alpha - 1)} = 1 \f]
///
/// Source    arXiv 1905.05702.
/// Shapes    (scores: n) -> scalars; masked scores are -infinity and left out.
/// Domain    as the map's.
/// Limits    n = 1: threshold (alpha - 1) z - 1, size 1.
/// Errors    NaN and 0 for what `weights` answers with a NaN row.
/// Accuracy  8 eps (1 + |(alpha - 1) max z|) absolute: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <EntmaxLike Map>
INCONTEXT_HD EntmaxSupport<typename Map::value_type> entmax_support(const Map& map,
                                                                    Row<const typename Map::value_type> scores) {
  using T = typename Map::value_type;
  const auto pass = detail::read(map, scores);
  if (!pass.valid()) return {math::not_a_number<T>(), 0};
  EntmaxSupport<T> support{T(pass.slope * pass.anchor - pass.reached()), 0};
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (detail::is_visible(scores[i]) && T(0) < pass.weight(scores[i])) ++support.size;
  }
  return support;
}

}  // namespace incontext::scoring
