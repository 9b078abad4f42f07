#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/tilted_scores.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// Single-location regression: one of n tokens has the answer. Its score is N(separation, 1), those of the others are
/// N(0, 1), and the tokens' values are independent N(0, 1). The label is the value of the right token; noise on it adds
/// its variance to every error. A predictor answers with the weighted sum of the values.
namespace incontext::laws {

/// The error of a map in single-location regression, and the moments of its weights that it is made of.
///
/// Units     dimensionless: the variance of a value is 1.
template <Real T>
struct SingleLocationError {
  T error;           ///< E (sum a_i v_i - v_right)^2 = 1 - 2 needle_weight + ipr
  T needle_weight;   ///< E a_right
  T noise_weight;    ///< 1 - E a_right, without that difference
  T ipr;             ///< E sum a_i^2
  T error_estimate;  ///< relative, the largest of the integrals'
};

/// The error of attention with any map that is softmax after an elementwise map, in single-location regression.
///
/// \f[ E \Bigl(\sum_i a_i v_i - v_0\Bigr)^2 = 1 - 2 E a_0 + E\sum_i a_i^2
///     = 2\,E\sum_{i>0} a_i^2 + E \sum_{i \ne j > 0} a_i a_j \f]
///
/// The second form has no differences, and is what is computed, each term as one integral.
///
///     const auto found = laws::single_location_error(scoring::Softmax<double>{0.5}, 20, 2.0);   // found.error
///
/// Source    the task: arXiv 2509.21936 and 2410.01537, of which only summaries were read, so that their symbols are not
///           matched here; the error derived: docs/theory/laws.md#single-location-regression.
/// Shapes    (map, row_length n, separation) -> scalars
/// Units     separation: standard deviations of a score.
/// Domain    1 <= row_length <= 1e12, |separation| <= 30; map in its domain, phi piecewise smooth.
/// Limits    row_length = 1: error 0. A map of equal weights: 1 - 1 / n.
/// Errors    std::invalid_argument for row_length, std::domain_error for the rest; numerics::QuadratureError where the
///           estimate stays above eps^0.64 or phi changes too fast for its panels.
/// Accuracy  1e-12 relative: tests/laws/single_location.cpp.
template <scoring::SoftmaxLike Map>
SingleLocationError<scoring::Value<Map>> single_location_error(const Map& map, std::int64_t row_length,
                                                               const scoring::Value<Map>& separation);

/// The least error of every predictor in single-location regression: that of softmax at inverse temperature
/// `separation`, whose weights are the posterior of the right token's place.
///
/// \f[ 1 - E a_0, \qquad a = \mathrm{softmax}(\nu \chi) \f]
///
///     const double least = laws::single_location_bayes_error(20, 2.0);   // 0.584142
///
/// Source    derived: docs/theory/laws.md#single-location-regression. It is 1 - random_needle_weight of a needle with
///           gap nu^2 and both standard deviations nu, without that difference.
/// Shapes    (row_length n, separation nu) -> scalar
/// Domain    as single_location_error.
/// Limits    separation = 0: 1 - 1 / n. It turns from 1 to 0 where nu passes sqrt(2 log n).
/// Errors    as single_location_error.
/// Accuracy  as single_location_error.
template <Real T>
T single_location_bayes_error(std::int64_t row_length, const T& separation) {
  using scoring::Softmax;
  const T size = math::magnitude(separation);
  require_finite("laws::single_location_bayes_error", "separation", separation);
  if (row_length >= 1 && !(size > T(0))) return T(1) - T(1) / math::from_count<T>(row_length);
  return single_location_error(Softmax<T>{T(T(1) / size)}, row_length, size).noise_weight;
}

/// The error of linear attention at its best gain in single-location regression.
///
/// \f[ a_i = \gamma (\chi_i + c): \qquad \frac{1}{1 + \nu^2/n}\ (c = 0), \qquad
///     \frac{1}{1 + \nu^2/n + 1/(n-1)}\ (\text{best } c) \f]
///
/// It falls like n / (n + nu^2), so that the separation has to grow with the root of the row length, where softmax needs
/// sqrt(2 log n).
///
/// Source    derived: docs/theory/laws.md#single-location-regression.
/// Shapes    (row_length n, separation nu) -> scalar
/// Domain    row_length >= 1; separation finite.
/// Limits    separation = 0: 1. row_length = 1: 1 / (1 + nu^2).
/// Errors    std::invalid_argument for row_length, std::domain_error for separation.
/// Accuracy  4 eps: tests/laws/single_location.cpp.
template <Real T>
T single_location_linear_error(std::int64_t row_length, const T& separation) {
  require_at_least("laws::single_location_linear_error", "row_length", row_length, std::int64_t{1});
  require_finite("laws::single_location_linear_error", "separation", separation);
  return T(1) / (T(1) + separation * separation / math::from_count<T>(row_length));
}

/// The same with a bias on the scores, which is chosen best: c = n / (nu (n - 1)).
///
/// Source    derived: docs/theory/laws.md#single-location-regression.
/// Shapes    (row_length n, separation nu) -> scalar
/// Domain    row_length >= 1; separation finite.
/// Limits    separation -> 0: 1 - 1 / n, equal weights. row_length = 1: 0.
/// Errors    std::invalid_argument for row_length, std::domain_error for separation.
/// Accuracy  4 eps: tests/laws/single_location.cpp.
template <Real T>
T single_location_affine_error(std::int64_t row_length, const T& separation) {
  require_at_least("laws::single_location_affine_error", "row_length", row_length, std::int64_t{1});
  require_finite("laws::single_location_affine_error", "separation", separation);
  if (row_length == 1) return T(0);
  const T n = math::from_count<T>(row_length);
  return T(1) / (T(1) + separation * separation / n + T(1) / (n - T(1)));
}

template <scoring::SoftmaxLike Map>
SingleLocationError<scoring::Value<Map>> single_location_error(const Map& map, std::int64_t row_length,
                                                               const scoring::Value<Map>& separation) {
  using T = scoring::Value<Map>;
  using std::exp;
  using std::log;
  constexpr auto where = "laws::single_location_error";
  require_at_least(where, "row_length", row_length, std::int64_t{1});
  if (row_length > 1'000'000'000'000)
    throw_invalid_argument(where, "row_length is too large", row_length, "at most 1e12");
  if (!(math::magnitude(separation) <= T(30)))
    throw_domain_error(where, "separation is too large", separation, "|separation| <= 30");
  scoring::require_valid(map);
  if (row_length == 1) return {T(0), T(1), T(0), T(1), T(0)};
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(row_length));
  if (!phi.in_domain())
    throw_domain_error(where, "the map is outside its domain in a row of", row_length,
                       "parameters as the map's header states");
  const T n = math::from_count<T>(row_length);
  const detail::TiltedScores<T> scores(where, phi, n, separation);

  // The integrals over log s of the right token's weight and of the others'; beyond both supports there is nothing.
  const auto right = [&](const T& s) {
    const auto at = scores(s);
    return T(log(at.right_first) + (n - T(1)) * at.log_psi);
  };
  const auto noise = [&](const T& s) {
    const auto at = scores(s);
    return T(log(at.first) + (n - T(2)) * at.log_psi + at.log_right_psi);
  };
  const T start = -log(n) - phi.value(T(0));
  const auto a = log_concave_support(right, start, negligible_drop<T>());
  const auto b = log_concave_support(noise, start, negligible_drop<T>());
  const T lower = (std::min)(a.lower, b.lower), width = (std::max)(a.upper, b.upper) - lower;
  using Values = std::array<T, 5>;
  const auto sums = numerics::sum_bumps(
      [&](const T& u) {
        const auto at = scores(T(lower + width * u));
        const T others = width * (n - T(1)) * exp(T((n - T(2)) * at.log_psi + at.log_right_psi));
        const T pairs = row_length == 2 ? T(0) : T((n - T(2)) * at.first * at.first * exp(T(-at.log_psi)));
        const T alone = width * exp(T((n - T(1)) * at.log_psi));
        return Values{T(alone * at.right_first), T(alone * at.right_second), T(others * at.first),
                      T(others * at.second), T(others * pairs)};
      },
      Values{}, numerics::quadrature_tolerance<T>());
  const auto& [needle, needle_square, all_noise, squares, pairs] = sums.value;
  const T error = T(2) * squares + pairs;
  if (!(sums.worst <= numerics::quadrature_tolerance<T>())) {
    throw numerics::QuadratureError(where, static_cast<double>(sums.worst),
                                    static_cast<double>(numerics::quadrature_tolerance<T>()),
                                    {static_cast<double>(error), static_cast<double>(T(error * sums.worst))});
  }
  return {error, needle, all_noise, T(needle_square + squares), sums.worst};
}

INCONTEXT_COMPILED_OF_MAPS(laws_single_location, single_location_error);
INCONTEXT_COMPILED(laws_single_location, single_location_bayes_error<double>);
INCONTEXT_COMPILED(laws_single_location, single_location_linear_error<double>);
INCONTEXT_COMPILED(laws_single_location, single_location_affine_error<double>);

}  // namespace incontext::laws
