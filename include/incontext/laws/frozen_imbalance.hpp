#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"

namespace incontext::laws {

/// Quantile of one row's imbalance |dW_K| / |dW_V| deep in the frozen regime: what a typical row learns (its median,
/// share = 1/2), while the root mean square of laws/gradient_flow.hpp grows, made by rare near ties.
///
/// \f[ R \approx x\, \kappa\, \rho\, |N|,\quad \rho^m \sim U(0, 1),\quad N \sim N(0, 1)\qquad\Rightarrow\qquad
///     R_q = x\, \kappa \left(\frac{q\, 2^{m/2} \sqrt\pi}{\Gamma(\frac{1 - m}{2})}\right)^{1/m},\qquad
///     \kappa = \frac{2 (d - 1)}{\sqrt{d\,[d - 1 + (b + \gamma / h)^2]}} \f]
///
/// rho is the ratio of the two largest weights, which is Beta(m, 1) under the Poisson-Dirichlet law; N is the part of
/// the direction h along the difference of their tokens; kappa holds the lengths of that difference and of the first
/// token by their means; b, h and m as in frozen_row. The law of R beyond this has no closed form.
///
/// Source    derived: C_a h = p (1 - p) (x_1 - x_2) (x_1 - x_2)^T h for two tokens, p << 1; P(R <= r) is then
///           E min(1, (r / (x kappa |N|))^m), whose 1 never counts where R_q << x kappa. Ratios: Pitman & Yor 1997.
/// Units     dimensionless; spread = x.
/// Domain    count >= 2, spread > h, dimension >= 1, 0 < share < 1.
/// Limits    x -> infinity: log R_q / x -> log(q) / h.
/// Errors    std::domain_error.
/// Accuracy  an approximation of order m = h / x that leaves the third score out. The logarithm of the median at n = 64
///           and 512, d = 16: within 0.3 at x = 16, 0.19 at x = 32, 2% and 0.18 at x = 64, where the test's samples
///           themselves scatter by 0.09 and 0.18 (tests/simulate/gradient_norms.cpp).
/// Runs on   host
template <Real T>
T frozen_imbalance_quantile(const T& count, const T& spread, const T& dimension, const T& share = T(0.5)) {
  using std::exp;
  using std::log;
  using std::sqrt;
  constexpr auto where = "laws::frozen_imbalance_quantile";
  detail::require_count(where, "count", count, 2);
  detail::require_count(where, "dimension", dimension);
  detail::require_fraction(where, "share", share);
  const FrozenRow<T> row = frozen_row(count, spread);
  const T pi = boost::math::constants::pi<T>(), m = row.index;
  const T highest = row.quantile + boost::math::constants::euler<T>() / (m * spread), others = dimension - T(1);
  const T lengths = T(2) * others / sqrt(T(dimension * (others + highest * highest)));
  const T log_moment =
      boost::math::lgamma(T((T(1) - m) / T(2))) - log(pi) / T(2) - m * log(T(2)) / T(2);  // log E |N|^-m
  return spread * lengths * exp(T((log(share) - log_moment) / m));
}

}  // namespace incontext::laws
