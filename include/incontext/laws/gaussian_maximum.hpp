#pragma once

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/largest_share.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

/// Expected largest weight of a softmax row of n independent normal scores.
///
/// \f[ E \max_j a_j = n \int ds \int dg\, \varphi(g) F_1(s + x g)
///     \Bigl[\int_{-\infty}^g dg'\, \varphi(g') e^{-e^{s + x g'}}\Bigr]^{n-1},\qquad F_1(y) = e^{y - e^y} \f]
///
/// Each of the three integrals, over s, over the largest score g and over the distance g - g' of another score below
/// it, is a trapezoidal sum. Such sums converge fast here, because the integrands are smooth and fall at both ends
/// either doubly exponentially or like a normal density. A step is halved until doubling it would change the result by
/// less than the tolerance; that change is its part of the error estimate.
///
/// Source    derived: docs/theory/laws.md#largest-weight.
/// Units     score_stddev = beta times the standard deviation of the scores, dimensionless.
/// Domain    1 <= row_length <= 1e200 and whole, score_stddev >= 0.
/// Limits    row_length = 1: 1; score_stddev = 0: 1/n; score_stddev -> infinity: 1.
/// Errors    std::domain_error for row_length or score_stddev outside the domain; numerics::QuadratureError.
/// Accuracy  2e-13 relative up to 9e15 scores: tests/laws/gaussian_maximum.cpp, precision_slow.cpp.
template <Real T>
numerics::Quadrature<T> largest_weight(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  detail::require_whole("laws::largest_weight", "row_length", n, 1);
  require_non_negative("laws::largest_weight", "score_stddev", score_stddev);
  if (!(n <= T(1e200))) throw_domain_error("laws::largest_weight", "row_length is too large", n, "at most 1e200");
  if (n <= T(1)) return {T(1), T(0)};
  detail::LargestShare<T> share(n, score_stddev);
  const T tolerance = numerics::quadrature_tolerance<T>();
  auto steps = share.steps(tolerance);
  detail::MaximumSums<T> change{};
  for (int i = 0; i < 4; ++i) {
    const T value = share.integrate(steps, change);
    if (change.worst() <= tolerance) return {value, T(value * (change.u + change.g + change.d))};
    for (T detail::MaximumSums<T>::*one :
         {&detail::MaximumSums<T>::u, &detail::MaximumSums<T>::g, &detail::MaximumSums<T>::d}) {
      if (!(change.*one <= tolerance)) steps.*one = steps.*one / T(2);
    }
  }
  throw numerics::QuadratureError("laws::largest_weight", static_cast<double>(change.worst()),
                                  static_cast<double>(tolerance));
}

}  // namespace incontext::laws
