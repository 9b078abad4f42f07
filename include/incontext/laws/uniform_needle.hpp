#pragma once

#include <cmath>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/uniform_scores.hpp"
#include "incontext/laws/detail/weight_search.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Weight of one needle among `noise_count` tokens with independent scores that are uniform between two edges: bounded
/// competitors. Scores are counted from the lower edge and multiplied by the inverse temperature: `span` = beta times
/// the width of the law, `gap` = beta (m - lower edge).
namespace incontext::laws {

/// Expected weight of a needle of score m among N uniform scores.
///
/// \f[ E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int dy\, e^{y - e^y}\, \psi(y - x_m)^N,\qquad
///     \psi(s) = \frac{E_1(e^s) - E_1(e^{s + w})}{w},\quad w = \beta (z_+ - z_-),\ x_m = \beta (m - z_-) \f]
///
/// Source    derived: docs/theory/laws.md#needle, with the uniform law's psi.
/// Units     dimensionless.
/// Domain    noise_count >= 1 and whole, span >= 0, gap finite.
/// Limits    span = 0: 1 / (1 + N e^(-gap)). Never below 1 / (1 + N (e^w - 1) / w e^(-gap)) (Jensen).
/// Errors    std::domain_error for noise_count, span or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/uniform_needle.cpp. Where the weight is close to 1, uniform_noise_weight keeps
///           the digits of what is left.
template <Real T>
numerics::Quadrature<T> uniform_needle_weight(const Count<T>& noise_count, const T& span, const T& gap) {
  const T& n = noise_count;
  using std::log;
  detail::require_uniform_needle("laws::uniform_needle_weight", n, span, gap);
  const T turn = gap - log(n) - detail::uniform_cumulants(span);
  return detail::needle_integral<T>("laws::uniform_needle_weight", detail::UniformScores<T>(span), n, gap, turn);
}

/// Expected weight of all the uniform noise together, without cancellation where it is small.
///
/// \f[ 1 - E \frac{e^{\beta m}}{e^{\beta m} + Z_N} = \int dy\, e^{y - e^y}\, (1 - \psi(y - x_m)^N) \f]
///
/// Source    derived: docs/theory/laws.md#needle, with the uniform law's psi.
/// Units     dimensionless.
/// Domain    as uniform_needle_weight.
/// Limits    gap -> infinity: N (e^w - 1) / w e^(-gap).
/// Errors    std::domain_error for noise_count, span or gap outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/uniform_needle.cpp.
template <Real T>
numerics::Quadrature<T> uniform_noise_weight(const Count<T>& noise_count, const T& span, const T& gap) {
  const T& n = noise_count;
  detail::require_uniform_needle("laws::uniform_noise_weight", n, span, gap);
  return detail::noise_integral<T>("laws::uniform_noise_weight", detail::UniformScores<T>(span), n, gap);
}

/// The beta (m - lower edge) at which a needle among N uniform scores has exactly the expected weight `weight`.
///
/// Source    derived: docs/theory/laws.md#retrieval; root by Boost.Math's TOMS 748.
/// Units     dimensionless; divide by beta for the score above the lower edge.
/// Domain    noise_count >= 1 and whole, span >= 0, 0 < weight < 1.
/// Limits    span = 0: log N + log(w / (1 - w)). SSMax, n -> infinity: ssmax_bounded_threshold (fading_thresholds.hpp).
/// Errors    std::domain_error for noise_count, span or weight outside the domain; numerics::QuadratureError.
/// Accuracy  1e-9 relative: tests/laws/uniform_needle.cpp.
template <Real T>
T uniform_retrieval_gap(const Count<T>& noise_count, const T& span, const T& weight = T(0.5)) {
  const T& n = noise_count;
  using std::log;
  detail::require_fraction("laws::uniform_retrieval_gap", "weight", weight);
  detail::require_uniform_needle("laws::uniform_retrieval_gap", n, span, T(0));
  const T annealed = log(n) + detail::uniform_cumulants(span);
  return detail::exponent_of_weight<T>(
      "laws::uniform_retrieval_gap", [&](const T& gap) { return uniform_needle_weight(n, span, gap).value; }, annealed,
      weight);
}

}  // namespace incontext::laws
