#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/fading.hpp"
#include "incontext/numerics/solve.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// The weights that each map gives to a two-level row, one score `high` and n - 1 equal scores `low`. No row is formed,
/// so n may be 1e15.
namespace incontext::laws {

/// Two-level weights of softmax, SSMax and SSA, which are softmax after an elementwise map phi.
///
/// \f[ a_{\max} = \frac{1}{1 + (n-1) e^{-(\phi(z_{high}) - \phi(z_{low}))}} \f]
///
/// Source    arXiv 2501.19399, Fig. 1; arXiv 2508.14685. SSA depends on both scores, not on their gap alone.
/// Units     scores in the map's units.
/// Domain    row_length >= 1, finite scores of either order, map in its domain.
/// Limits    n -> infinity: softmax e^gap / n, SSA w(high) / (n w(low)), SSMax ssmax_two_level_limit.
/// Errors    std::invalid_argument for the row_length, std::domain_error.
/// Accuracy  as two_level_weights of a gap: tests/laws/fading_by_map.cpp.
template <scoring::SoftmaxLike Map>
TwoLevelWeights<scoring::Value<Map>> two_level_weights(const Map& map, std::ptrdiff_t row_length,
                                                       const scoring::Value<Map>& high, const scoring::Value<Map>& low);

/// Two-level weights of approximate softmax; every weight is of order 1/n.
///
/// \f[ a_{high} = \frac1n \Bigl(1 + \frac{(n-1) g}{n \tau}\Bigr),\qquad
///     a_{low} = \frac1n \Bigl(1 - \frac{g}{n \tau}\Bigr) \f]
///
/// Source    derived: docs/theory/laws.md#two-levels.
/// Units     scores in units of the temperature.
/// Domain    as for softmax.
/// Limits    n -> infinity: (1 + g / tau) / n.
/// Errors    as for softmax.
/// Accuracy  4 eps of the larger term: tests/laws/fading_by_map.cpp.
template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::ApproximateSoftmax<T>& map, std::ptrdiff_t row_length,
                                     const T& high, const T& low);

/// Two-level weights of NormSoftmax. Where it divides by the row's standard deviation, they do not depend on the gap.
///
/// \f[ \beta g = \frac{g}{\min(\sigma, \tau)},\qquad
///     \sigma = \frac{|g| \sqrt{n-1}}{n},\ \frac{|g|}{\sqrt n},\ \frac{g^2 (n-1)}{n^2} \f]
///
/// The three values of sigma are the population standard deviation, the sample standard deviation and the population
/// variance.
///
/// Source    arXiv 2310.12956 eq. 2; derived: docs/theory/laws.md#two-levels.
/// Units     raw scores; temperature in their units (squared for the variance).
/// Domain    as for softmax.
/// Limits    equal scores: uniform.
/// Errors    as for softmax.
/// Accuracy  8 eps (1 + |beta g|) relative: tests/laws/fading_by_map.cpp.
template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::NormSoftmax<T>& map, std::ptrdiff_t row_length, const T& high,
                                     const T& low);

/// Two-level weights of hardmax, which never fades.
///
/// Source    definition.
/// Units     of the scores.
/// Domain    as for softmax.
/// Limits    equal scores: uniform.
/// Errors    as for softmax.
/// Accuracy  1 eps: tests/laws/fading_by_map.cpp.
template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Hardmax<T>&, std::ptrdiff_t row_length, const T& high,
                                     const T& low);

/// Two-level weights of alpha-entmax, which gives the high score all weight from the gap entmax_one_hot_gap on.
///
/// \f[ a_{high} = (u + c)^p,\quad a_{low} = u^p,\quad (u + c)_+^p + (n-1) u^p = 1,
///     \quad p = \frac{1}{\alpha-1},\quad c = (\alpha - 1) g \f]
///
/// Source    arXiv 1905.05702; root by Boost.Math's TOMS 748.
/// Units     dimensionless scores.
/// Domain    as for softmax; alpha > 1.
/// Limits    alpha -> 1: softmax.
/// Errors    as for softmax.
/// Accuracy  1e-11 relative for 1.2 <= alpha <= 3: tests/laws/fading_by_map.cpp.
template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Entmax<T>& map, std::ptrdiff_t row_length, const T& high,
                                     const T& low);

/// Two-level weights of sparsemax, which is alpha-entmax with alpha = 2.
///
/// Source    Martins & Astudillo 2016.
/// Units     dimensionless scores.
/// Domain    as for softmax.
/// Limits    as entmax.
/// Errors    as for softmax.
/// Accuracy  as entmax.
template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Sparsemax<T>&, std::ptrdiff_t row_length, const T& high,
                                     const T& low);

// The weights of a row of two levels, from the weights of its two kinds of scores.
namespace detail {

template <Real T>
T require_two_levels(std::ptrdiff_t row_length, const T& high, const T& low) {
  require_at_least("laws::two_level_weights", "row_length", row_length, std::ptrdiff_t{1});
  require_finite("laws::two_level_weights", "high", high);
  require_finite("laws::two_level_weights", "low", low);
  return math::from_count<T>(row_length);
}

/// The two-level weights, given the weight of the high score and that of each low score.
template <Real T>
TwoLevelWeights<T> two_levels(const T& row_length, const T& high, const T& low) {
  if (!(T(1) < row_length)) return {T(1), std::numeric_limits<T>::quiet_NaN(), T(0)};
  return {high, low, (row_length - T(1)) * low};
}

/// alpha-entmax: the low weight is u^p, where (u + c)^p + (n - 1) u^p = 1, c = (alpha - 1) gap, p = 1 / (alpha - 1).
template <Real T>
TwoLevelWeights<T> two_level_entmax(const T& row_length, const T& gap, const T& alpha) {
  using std::exp;
  using std::pow;
  const T others = row_length - T(1), power = T(1) / (alpha - T(1)), offset = (alpha - T(1)) * gap;
  if (!(T(0) < others) || T(1) <= offset) return two_levels(row_length, T(1), T(0));
  const auto excess = [&](const T& u) {
    const T top = u + offset;
    T above = top > T(0) ? T(pow(top, power) - T(1)) : T(-1);
    // offset - 1 is exact here, so u keeps its digits near the gap at which the row becomes one-hot
    const T beyond_one = u + (offset - T(1));
    if (T(0.5) < top) above = math::exp_minus_one(T(power * math::log_one_plus(beyond_one)));
    return T(above + others * pow(u, power));
  };
  const T most = T(0) < offset ? T(T(1) - offset) : T(1);
  const T u = numerics::root_between<T>("laws::two_level_weights", excess, T(0), most);
  const T top = u + offset;
  return two_levels(row_length, T(0) < top ? T(pow(top, power)) : T(0), T(pow(u, power)));
}

}  // namespace detail

template <scoring::SoftmaxLike Map>
TwoLevelWeights<scoring::Value<Map>> two_level_weights(const Map& map, std::ptrdiff_t row_length,
                                                       const scoring::Value<Map>& high,
                                                       const scoring::Value<Map>& low) {
  using T = scoring::Value<Map>;
  scoring::require_valid(map);
  const T n = detail::require_two_levels(row_length, high, low);
  const auto phi = map.elementwise(row_length);
  if (!phi.in_domain()) {
    throw_domain_error("laws::two_level_weights", "map is outside its domain in rows of this length", row_length,
                       "a map in its domain");
  }
  return two_level_weights(n, T(phi.difference(high, low)));
}

template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::ApproximateSoftmax<T>& map, std::ptrdiff_t row_length,
                                     const T& high, const T& low) {
  scoring::validate(map);
  const T n = detail::require_two_levels(row_length, high, low);
  const T gap = (high - low) / map.temperature;
  return detail::two_levels(n, T((T(1) + gap * ((n - T(1)) / n)) / n), T((T(1) - gap / n) / n));
}

template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::NormSoftmax<T>& map, std::ptrdiff_t row_length, const T& high,
                                     const T& low) {
  using std::sqrt;
  scoring::validate(map);
  const T n = detail::require_two_levels(row_length, high, low);
  const T gap = high - low, size = math::magnitude(gap);
  T scale = size * sqrt(T(n - T(1))) / n;
  if (map.scale == scoring::ScoreScale::sample_stddev) scale = size / sqrt(n);
  if (map.scale == scoring::ScoreScale::population_variance) scale = scale * scale;
  if (row_length == 1 || !(T(0) < scale)) return two_level_weights(n, T(0));
  return two_level_weights(n, T(gap / (scale < map.temperature ? scale : map.temperature)));
}

template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Hardmax<T>&, std::ptrdiff_t row_length, const T& high,
                                     const T& low) {
  const T n = detail::require_two_levels(row_length, high, low);
  if (low < high) return detail::two_levels(n, T(1), T(0));
  if (high < low) return detail::two_levels(n, T(0), T(T(1) / (n - T(1))));
  return detail::two_levels(n, T(T(1) / n), T(T(1) / n));
}

template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Entmax<T>& map, std::ptrdiff_t row_length, const T& high,
                                     const T& low) {
  scoring::validate(map);
  if (!(T(1) < map.alpha)) {
    throw_domain_error("laws::two_level_weights", "alpha is not above 1", map.alpha, "1 < value < infinity");
  }
  const T n = detail::require_two_levels(row_length, high, low);
  return detail::two_level_entmax(n, T(high - low), map.alpha);
}

template <Real T>
TwoLevelWeights<T> two_level_weights(const scoring::Sparsemax<T>&, std::ptrdiff_t row_length, const T& high,
                                     const T& low) {
  const T n = detail::require_two_levels(row_length, high, low);
  return detail::two_level_entmax(n, T(high - low), T(2));
}

}  // namespace incontext::laws
