#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/normsoftmax_pass.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// What decides NormSoftmax's divisor: the scale of the scores, the cap tau, or tau because the scores are equal but for
/// rounding and have no scale.
///
/// Runs on   host and device
enum class NormSoftmaxBranch { constant_row, scale, temperature };

/// The divisor of NormSoftmax, and where it comes from.
///
/// Source    arXiv 2310.12956 eq. 2.
/// Units     of the scores (squared under ScoreScale::population_variance).
/// Runs on   host and device
template <Real T>
struct NormSoftmaxDivisor {
  T scale;
  T divisor;
  NormSoftmaxBranch branch;
};

/// The divisor of a matrix of scores, min(sigma, tau).
///
/// \f[ D = \min(\sigma(z_{11}, \ldots, z_{qn}), \tau) \f]
///
/// Source    arXiv 2310.12956 eq. 2.
/// Shapes    (scores: q x n) -> scalars; masked scores are -infinity and left out.
/// Limits    equal scores: tau; sigma = tau counts as the temperature's branch.
/// Errors    NaN scale and divisor for no visible score, a NaN or +infinity, or a temperature outside the domain.
/// Accuracy  8 eps relative to the scale: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD NormSoftmaxDivisor<T> normsoftmax_divisor(const MatrixNormSoftmax<T>& map,
                                                       MatrixView<const std::type_identity_t<T>> scores) {
  const auto pass = detail::normsoftmax_pass(map.temperature, map.scale, scores);
  const T nan = math::not_a_number<T>();
  if (!pass.valid()) return {nan, nan, NormSoftmaxBranch::constant_row};
  if (pass.equal) return {pass.scale, pass.divisor, NormSoftmaxBranch::constant_row};
  return {pass.scale, pass.divisor, pass.capped() ? NormSoftmaxBranch::temperature : NormSoftmaxBranch::scale};
}

/// The divisor of one row: the matrix form with one row.
///
/// Source    arXiv 2310.12956 eq. 2.
/// Shapes    (scores: n) -> scalars
/// Accuracy  as the matrix form.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD NormSoftmaxDivisor<T> normsoftmax_divisor(const NormSoftmax<T>& map,
                                                       Row<const std::type_identity_t<T>> scores) {
  return normsoftmax_divisor(detail::matrix_scope(map), detail::as_grid(scores));
}

/// Largest weight that NormSoftmax can give on any row of n scores whose scale is below tau: short rows cannot be
/// sharp.
///
/// \f[ \max a \le \frac{1}{1 + (n-1) e^{-n/\sqrt{n-1}}}, \qquad \text{sample standard deviation: } e^{-\sqrt n} \f]
///
/// Attained by one score above n - 1 equal ones, whatever the gap. The variance has no such bound: the smaller the
/// scores, the sharper the weights, and the supremum is 1.
///
/// Source    derived: docs/theory/scoring.md#normsoftmax.
/// Domain    n >= 1.
/// Limits    n = 1: 1; population: smallest at n = 7, 0.744; n -> infinity: 1.
/// Errors    NaN outside the domain.
/// Accuracy  8 eps relative: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Real T = double>
INCONTEXT_HD T normsoftmax_largest_weight(std::ptrdiff_t count, ScoreScale scale = ScoreScale::population_stddev) {
  using std::exp;
  using std::sqrt;
  if (count < 1) return math::not_a_number<T>();
  if (count == 1 || scale == ScoreScale::population_variance) return T(1);
  const T n = math::from_count<T>(count);
  const T others = math::from_count<T>(count - 1);
  const T gap = scale == ScoreScale::sample_stddev ? T(sqrt(n)) : T(n / sqrt(others));
  const T opposite = -gap;
  return T(1) / (T(1) + others * exp(opposite));
}

}  // namespace incontext::scoring
