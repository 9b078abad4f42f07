#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/solve.hpp"

/// The inverse temperature that keeps what a head does the same while its rows become longer.
namespace incontext::calibration {

/// What is kept: the entropy of the weights, the largest weight, or the weight of a needle.
enum class Held { entropy, largest_weight, needle_weight };

/// What texts call it.
inline const char* held_name(Held held) {
  return held == Held::entropy ? "entropy" : held == Held::largest_weight ? "largest weight" : "needle's weight";
}

/// A head's row: independent normal scores, and, for Held::needle_weight, one that is higher by `gap` than their mean.
///
/// Units     score_stddev and gap of the scores.
/// Domain    score_stddev > 0, gap finite.
template <Real T = double>
struct HeadScores {
  T score_stddev;
  T gap = T(0);
};

/// An inverse temperature, and the value of the held quantity there.
///
/// Units     inverse_temperature in one over those of the scores, value in nats or dimensionless.
template <Real T>
struct HeldTemperature {
  T inverse_temperature;
  T value;
  bool attained;  ///< false: no inverse temperature attains the value, and this one is nearest to it
};

/// The held quantity in rows of that length at that inverse temperature.
///
/// \f[ E H(n, \beta \sigma),\qquad E \max_j a_j(n, \beta \sigma),\qquad
///     E \frac{e^{\beta g}}{e^{\beta g} + Z_{n - 1}(\beta \sigma)} \f]
///
/// Source    laws/gaussian_row.hpp, gaussian_maximum.hpp, gaussian_needle.hpp.
/// Domain    row_length >= 2 and whole, inverse_temperature >= 0, scores in their domain.
/// Limits    inverse_temperature = 0: log n, 1/n, 1/n.
/// Errors    std::domain_error, numerics::QuadratureError as the laws.
/// Accuracy  as the laws: tests/calibration/held_quantity.cpp.
template <Real T>
T held_value(Held held, const HeadScores<T>& scores, const Count<T>& row_length, const T& inverse_temperature) {
  const T& n = row_length;
  const T x = inverse_temperature * scores.score_stddev;
  if (held == Held::entropy) return laws::gaussian_row<T>(n, x).entropy;
  if (held == Held::largest_weight) return laws::largest_weight<T>(n, x).value;
  return laws::needle_weight<T>(T(n - T(1)), x, T(inverse_temperature * scores.gap)).value;
}

namespace detail {

inline constexpr int most_doublings = 40;

}  // namespace detail

/// The lowest inverse temperature at which rows of `row_length` scores have the held quantity at `target`.
///
/// \f[ \beta(n):\quad Q(n, \beta) = Q_0 \f]
///
/// The entropy falls and the largest weight rises with the inverse temperature, so that there is one solution. The
/// needle's weight rises and may fall again, where higher competitors win: the lower of two solutions is taken. If the
/// needle's weight is below the target at every inverse temperature, the best one is returned, and `attained` is false.
///
///     const calibration::HeadScores<double> scores{.score_stddev = 1.5};
///     const double target = calibration::held_value<double>(calibration::Held::entropy, scores, 1024, 1.0);
///     const auto held =
///         calibration::holding_temperature<double>(calibration::Held::entropy, scores, 8 * 1024, target);
///
/// Source    derived: docs/theory/calibration.md#holding-a-quantity; root by Boost.Math's TOMS 748, maximum by Brent's
///           method.
/// Units     as HeldTemperature; target as value.
/// Domain    row_length >= 2 and whole, scores in their domain; 0 < target < log n for the entropy, 1/n < target < 1
///           for the weights.
/// Limits    1 if the target is what inverse temperature 1 gives at this row_length (for the needle's weight, if it rises
///           there).
/// Errors    std::domain_error, also for a target that no inverse temperature attains; numerics::QuadratureError.
/// Accuracy  1e-9 relative, where the quantity depends on it: tests/calibration/held_quantity.cpp,
///           held_quantity_50digits.cpp.
template <Real T>
HeldTemperature<T> holding_temperature(Held held, const HeadScores<T>& scores, const Count<T>& row_length,
                                       const T& target) {
  using std::exp;
  using std::log;
  constexpr auto where = "calibration::holding_temperature";
  const T& n = row_length;
  require_positive(where, "score_stddev", scores.score_stddev);
  require_finite(where, "gap", scores.gap);
  if (!(T(2) <= n)) throw_domain_error(where, "row_length is too small", n, "at least 2");
  const bool is_entropy = held == Held::entropy;
  if (!(is_entropy ? T(0) < target && target < log(n) : T(1) / n < target && target < T(1))) {
    throw_domain_error(where, "target is not attained at any inverse temperature", target,
                       is_entropy ? "0 < target < log n" : "1/n < target < 1");
  }
  // how far the row is from being sharp enough; it rises with the inverse temperature until the maximum, if any
  const auto excess = [&](const T& log_beta) {
    const T value = held_value(held, scores, row_length, T(exp(log_beta)));
    return is_entropy ? T(target - value) : T(value - target);
  };
  const T octave = log(T(2));
  T low = -log(scores.score_stddev), high = low;
  // down to where it is negative and rises, which is below the lower of two solutions
  const auto is_above = [&] { return T(0) <= excess(low) || excess(low) <= excess(T(low - octave)); };
  for (int i = 0; i < detail::most_doublings && is_above(); ++i) low = low - octave;
  T best = excess(low);
  for (int i = 0; i < detail::most_doublings; ++i) {
    high = (i == 0 ? low : high) + octave;
    const T next = excess(high);
    if (T(0) <= next) {
      const T beta = exp(numerics::root_between<T>(where, excess, T(high - octave), high, {.scale = T(1)}));
      return {beta, held_value(held, scores, row_length, beta), true};
    }
    if (next < best) break;
    best = next;
  }
  // the maximum is between the last three points, and may still be above the target
  const auto most = numerics::minimum_between<T>([&](const T& log_beta) { return T(-excess(log_beta)); },
                                                 T(high - T(2) * octave), high, std::numeric_limits<T>::digits / 3, 60);
  const bool is_attained = most.value < T(0);
  const T beta =
      is_attained
          ? exp(numerics::root_between<T>(where, excess, T(high - T(2) * octave), most.argument, {.scale = T(1)}))
          : exp(most.argument);
  return {beta, held_value(held, scores, row_length, beta), is_attained};
}

INCONTEXT_COMPILED(calibration_held_quantity, held_value<double>);
INCONTEXT_COMPILED(calibration_held_quantity, holding_temperature<double>);

}  // namespace incontext::calibration
