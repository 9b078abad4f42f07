#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/gaussian_needle.hpp"

namespace incontext::laws {

/// The longest row in which a needle keeps a given weight, and the weights in it and in the next longer row.
///
/// Units     length is a number of scores, the needle's included; weights dimensionless.
template <Real T>
struct CriticalLength {
  T length;  ///< rounded to T; 1 if no row of two or more scores leaves the needle so much, infinity if all up to 5.6e14 scores do
  T weight;         ///< in a row of that length; for infinity, of 5.6e14 scores
  T weight_beyond;  ///< in a row of length + 1; not a number for infinity
};

namespace detail {

inline constexpr std::int64_t longest_looked_at = std::int64_t{1} << 49;  // 5.6e14

/// By powers of two, then bisection between the last one at which the weight is kept and the next.
template <Real T, class Weight>
CriticalLength<T> critical_length(const T& weight, const Weight& weight_of) {
  std::int64_t kept = 1, lost = 2;
  for (std::int64_t n = 2; n <= longest_looked_at; n *= 2) {
    if (!(weight <= weight_of(n))) continue;
    kept = n;
    lost = 2 * n;
  }
  if (lost > longest_looked_at) return {math::infinity<T>(), weight_of(kept), math::not_a_number<T>()};
  while (lost - kept > 1) {
    const std::int64_t middle = kept + (lost - kept) / 2;
    (weight <= weight_of(middle) ? kept : lost) = middle;
  }
  return {math::from_count<T>(kept), kept == 1 ? T(1.0) : weight_of(kept), weight_of(lost)};
}

}  // namespace detail

/// The longest row in which softmax leaves a needle among normal scores the expected weight `weight`.
///
/// \f[ n^* = \max\left\{ n : E\,\frac{e^{\beta m}}{e^{\beta m} + Z_{n-1}} \ge w \right\} \f]
///
/// Attention fades: at a fixed temperature there is such a length for every needle. It is near 1 + e^(beta m - x^2/2)
/// (1 - w)/w while the competitors' weight is spread over many of them, and longer where a few carry it.
///
///     const auto critical = laws::softmax_critical_length(1.0, 4.5);   // half of the weight: n = 56
///
/// Source    derived: docs/theory/laws.md#thresholds; laws/gaussian_needle.hpp solved for n.
/// Units     dimensionless: noise_stddev = beta sqrt(v), gap = beta m.
/// Domain    noise_stddev >= 0, gap finite, 0 < weight < 1.
/// Limits    noise_stddev = 0: the whole part of two_level_count. At no temperature longer than e^(m^2/2v), to leading
///           order.
/// Errors    std::domain_error; numerics::QuadratureError. A length beyond 5.6e14 is not searched for: infinity.
/// Accuracy  exact but for lengths at which the weight is `weight` to 1e-11: tests/laws/critical_length.cpp,
///           critical_length_50digits.cpp.
template <Real T>
CriticalLength<T> softmax_critical_length(const T& noise_stddev, const T& gap, const T& weight = T(0.5)) {
  constexpr auto where = "laws::softmax_critical_length";
  require_non_negative(where, "noise_stddev", noise_stddev);
  require_finite(where, "gap", gap);
  detail::require_fraction(where, "weight", weight);
  return detail::critical_length(weight, [&](std::int64_t n) { return needle_weight(n - 1, noise_stddev, gap).value; });
}

/// The longest row in which SSMax leaves a needle among normal scores that weight, inverse temperature s log n.
///
/// SSMax's weight may dip in short rows and rise again; this is the last length at which it is kept, found between
/// powers of two. Among normal competitors it is finite for every needle: they freeze.
///
/// Source    derived: docs/theory/laws.md#thresholds.
/// Units     scale in one over the scores', variance and score = m in theirs.
/// Domain    scale > 0, variance >= 0, score finite, 0 < weight < 1.
/// Limits    variance = 0 and s m > 1: infinity, the weight tends to 1.
/// Errors    as softmax_critical_length.
/// Accuracy  as softmax_critical_length, where the weight falls once between two powers of two.
template <Real T>
CriticalLength<T> ssmax_critical_length(const T& scale, const T& variance, const T& score, const T& weight = T(0.5)) {
  using std::log;
  using std::sqrt;
  constexpr auto where = "laws::ssmax_critical_length";
  require_positive(where, "scale", scale);
  require_non_negative(where, "variance", variance);
  require_finite(where, "score", score);
  detail::require_fraction(where, "weight", weight);
  return detail::critical_length(weight, [&](std::int64_t n) {
    const T beta = scale * log(T(static_cast<double>(n)));
    return needle_weight(n - 1, T(beta * sqrt(variance)), T(beta * score)).value;
  });
}

INCONTEXT_COMPILED(laws_critical_length, softmax_critical_length<double>);
INCONTEXT_COMPILED(laws_critical_length, ssmax_critical_length<double>);

}  // namespace incontext::laws
