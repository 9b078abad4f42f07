#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"

namespace incontext::laws {

/// A layer whose rows are deep in the frozen regime: row_length = n tokens of dimension = d independent standard normal
/// components, with scores of standard deviation score_stddev = x after multiplication by the inverse temperature.
template <Real T = double>
struct FrozenLayer {
  Count<T> row_length;
  T score_stddev;
  Count<T> dimension;
};

/// Quantile of one row's imbalance |dW_K| / |dW_V| deep in the frozen regime. Its median (share = 1/2) is what a
/// typical row learns. The root mean square, in laws/gradient_sizes.hpp, grows instead, because of the rare rows whose
/// two largest scores nearly tie.
///
/// \f[ R \approx x\, \kappa\, \rho\, |N|,\quad \rho^m \sim U(0, 1),\quad N \sim N(0, 1)\qquad\Rightarrow\qquad
///     R_q = x\, \kappa \left(\frac{q\, 2^{m/2} \sqrt\pi}{\Gamma(\frac{1 - m}{2})}\right)^{1/m},\qquad
///     \kappa = \frac{2 (d - 1)}{\sqrt{d\,[d - 1 + (b + \gamma / h)^2]}} \f]
///
/// rho is the ratio of the two largest weights, which is Beta(m, 1) under the Poisson-Dirichlet law. N is the component
/// of the direction W_V g of gradient_sizes.hpp along the difference of the two tokens with these weights. kappa
/// contains the lengths of that difference and of the first token, each replaced by its mean. b, h and m are those of
/// frozen_row. Beyond this approximation the law of R has no closed form.
///
/// Source    derived: docs/theory/laws.md#frozen-imbalance; two tokens have all the weight, and
///           P(R <= r) = E min(1, (r / (x kappa |N|))^m), where the 1 can be left out if R_q << x kappa.
/// Domain    row_length >= 2, score_stddev > h, dimension >= 1, 0 < share < 1.
/// Limits    x -> infinity: log R_q / x -> log(q) / h.
/// Errors    std::domain_error for share or a field of layer outside the domain.
/// Accuracy  an approximation of order m = h / x that neglects the third largest score. The logarithm of the median at
///           n = 64 and 512, d = 16: within 0.3 at x = 16, 0.19 at x = 32, 2% and 0.18 at x = 64, where the test's
///           samples themselves scatter by 0.09 and 0.18 (tests/simulate/gradients/gradient_norms.cpp).
template <Real T>
T frozen_imbalance_quantile(const FrozenLayer<T>& layer, const T& share = T(0.5)) {
  using std::exp;
  using std::log;
  using std::sqrt;
  constexpr auto where = "laws::frozen_imbalance_quantile";
  const T &n = layer.row_length, &x = layer.score_stddev, &d = layer.dimension;
  detail::require_count(where, "row_length", n, 2);
  detail::require_count(where, "dimension", d);
  detail::require_fraction(where, "share", share);
  const FrozenRow<T> row = frozen_row(n, x);
  const T pi = boost::math::constants::pi<T>(), m = row.index;
  const T highest = row.quantile + boost::math::constants::euler<T>() / (m * x), others = d - T(1);
  const T lengths = T(2) * others / sqrt(T(d * (others + highest * highest)));
  const T log_moment =
      boost::math::lgamma(T((T(1) - m) / T(2))) - log(pi) / T(2) - m * log(T(2)) / T(2);  // log E |N|^-m
  return x * lengths * exp(T((log(share) - log_moment) / m));
}

}  // namespace incontext::laws
