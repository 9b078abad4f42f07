#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::laws {

/// Moments of a row's weights and of the weighted mean of its scores.
///
/// Units     ipr dimensionless, mean_score in units of the scores, mean_square_score in those units squared.
template <Real T>
struct RowMoments {
  T ipr;                ///< E sum p^2
  T mean_score;         ///< E sum p z
  T mean_square_score;  ///< E (sum p z)^2
  T error_estimate;     ///< relative, the largest of the three
};

/// Moments of a row of weights of independent normal scores, for any map that is softmax after an elementwise map:
/// softmax, SSMax, SSA, or a user's own map.
///
/// \f[ p_j = \frac{w_j}{\sum_k w_k},\quad w_j = e^{\phi(z_j)},\quad z_j \sim N(0, q)\text{ independent},\ j \le l \f]
/// \f[ \psi(s) = E e^{-e^s w},\quad T_h(s) = E\,h\,e^{-e^s w} \f]
/// \f[ E \textstyle\sum p^2 = l\int ds\, e^{2s} T_{w^2}\psi^{l-1},\qquad
///     E \sum p z = q\,l(l-1)\int ds\, e^{2s} T_{\phi' w} T_w\,\psi^{l-2} \f]
/// \f[ E (\textstyle\sum p z)^2 = l\int ds\, e^{2s} T_{z^2 w^2}\psi^{l-1}
///     + l(l-1)\int ds\, e^{2s} T_{z w}^2\psi^{l-2} \f]
///
/// Source    derived: docs/theory/laws.md#row-moments.
/// Shapes    scalars; row_length = l, the visible scores (SSMax's n).
/// Units     score_variance = q in units of the scores squared.
/// Domain    row_length >= 1, score_variance >= 0, map in its domain, phi piecewise smooth (kinks, but no jumps).
/// Limits    score_variance = 0: 1/l, 0, 0. l = 1: 1, 0, q. Softmax: E sum p z = (q / temperature) (1 - E sum p^2).
/// Errors    std::invalid_argument for row_length, std::domain_error for the rest; numerics::QuadratureError where an
///           estimate stays above eps^0.64, or phi changes by more than 1e5 over the scores.
/// Accuracy  in double 1e-14 relative for softmax (tests/laws/row_moments_50digits.cpp), 1e-11 for a user's own map
///           (tests/laws/row_moments.cpp, tests/regression/own_maps.cpp).
template <scoring::SoftmaxLike Map>
RowMoments<scoring::Value<Map>> row_moments(const Map& map, std::int64_t row_length,
                                            const scoring::Value<Map>& score_variance) {
  using T = scoring::Value<Map>;
  using std::sqrt;
  require_at_least("laws::row_moments", "row_length", row_length, std::int64_t{1});
  require_non_negative("laws::row_moments", "score_variance", score_variance);
  scoring::require_valid(map);
  const StandardRows rows("laws::row_moments", map.elementwise(static_cast<std::ptrdiff_t>(row_length)),
                          T(static_cast<double>(row_length)));
  const T deviation = sqrt(score_variance);
  const StandardRow<T> row = rows(deviation);
  return {row.ipr, T(deviation * row.mean_score), T(score_variance * row.mean_square_score), row.error_estimate};
}

INCONTEXT_COMPILED_OF_MAPS(laws_row_moments, row_moments);

}  // namespace incontext::laws
