#pragma once

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Moments of the inverse partition function and of the weights of attention without the query's key, to the first
/// orders in 1/n.
///
/// Units     dimensionless, as InversePartitionFunction.
template <Real T>
struct LongContext {
  T mean;            ///< E 1/Z~ to order 1/n^2
  T variance;        ///< Var 1/Z~ to order 1/n^2
  T ipr;             ///< E sum_j p_j^2 to order 1/n^2
  T largest_weight;  ///< E max_j p_j to leading order; 1 where that is more
};

/// Closed forms of inverse_partition_function and expected_largest_weight for long contexts.
///
/// \f[ E \tilde Z^{-1} \approx \frac{1}{\mu}\left[1 + \frac vn + \frac{3 v^2 - g_3}{n^2}\right],\quad
///     \mathrm{Var} \approx \frac{1}{\mu^2}\left[\frac vn + \frac{8 v^2 - 2 g_3}{n^2}\right],\quad
///     \mu = n A e^{-\kappa} \f]
/// \f[ E \sum_j p_j^2 \approx \frac1n\left[r_2 + \frac{3 v r_2 - 2 (r_3 - r_2)}{n}\right],\quad
///     E \max_j p_j \approx \frac{1}{\mu} e^{-\kappa \Gamma(1 + 1/q) (n c_d)^{-1/q}} \f]
/// \f[ r_j = A_d(j\kappa)/A_d(\kappa)^j,\quad v = r_2 - 1,\quad g_3 = r_3 - 3 r_2 + 2,\quad q = (d - 1)/2 \f]
///
///     const auto limit = classification::long_context(/*dimension=*/3, /*kappa=*/4.0, /*context_length=*/100);
///
/// Source    derived: docs/theory/classification.md#long-contexts; delta method.
/// Domain    dimension >= 2, kappa >= 0, context_length >= 1, r_3 finite; accurate for v/n << 1.
/// Limits    n -> infinity: n times the IPR -> 1 + v, which is the number of points over the effective number of keys.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa.
/// Accuracy  the mean differs from the exact law by less than 40 (v/n)^3 relative where v/n <= 0.01
///           (tests/classification/long_context.cpp).
template <Real T>
LongContext<T> long_context(std::int64_t dimension, const T& kappa, std::int64_t context_length) {
  using std::exp;
  using std::expm1;
  using std::log;
  constexpr auto where = "classification::long_context";
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  require_non_negative(where, "kappa", kappa);
  detail::require_concentration(where, kappa);
  const T n = T(static_cast<double>(context_length)), v = detail::kernel_excess(dimension, kappa).value;
  const auto mean = detail::log_mean(dimension, kappa), thrice = detail::log_mean(dimension, T(T(3) * kappa));
  const T third = expm1(T(thrice.scaled - T(3) * mean.scaled));  // r_3 - 1
  if (!(third <= (std::numeric_limits<T>::max)() / T(8))) {
    throw_domain_error(where, "kappa is too large for the kernel's third moment in this dimension", kappa, "less");
  }
  const T skewness = third - T(3) * v, inverse_mean = exp(T(-mean.scaled)) / n;
  const T q = T(static_cast<double>(dimension - 1)) / T(2);
  const T nearest =
      boost::math::tgamma(T(T(1) + T(1) / q)) * exp(T(-(sphere_constants<T>(dimension).log_cap + log(n)) / q));
  const T largest = exp(T(-mean.scaled - kappa * nearest)) / n;  // one exponent, where 1/mu may overflow
  return {inverse_mean * (T(1) + v / n + (T(3) * v * v - skewness) / (n * n)),
          inverse_mean * inverse_mean * (v / n + (T(8) * v * v - T(2) * skewness) / (n * n)),
          (T(1) + v + (T(3) * v * (T(1) + v) - T(2) * (third - v)) / n) / n, largest < T(1) ? largest : T(1)};
}

}  // namespace incontext::classification
