#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/inverse_partition_function_integrals.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Moments of 1/Z~ over contexts, Z~ = sum_j e^(kappa (u_j.x - 1)) (+ 1 if the query is a key), and the inverse
/// participation ratio of the context's weights. The context-adaptive step has the effective learning rate n c / Z~.
///
/// Units     dimensionless.
template <Real T>
struct InversePartitionFunction {
  T mean;           ///< E 1/Z~
  T second_moment;  ///< E 1/Z~^2
  T variance;       ///< Var 1/Z~
  T ipr;            ///< E sum_j p_j^2 over context points, p_j = e^(kappa (u_j.x - 1)) / Z~
};

/// Moments of the inverse partition function and of the inverse participation ratio (IPR) of attention, exact at any
/// context length.
///
/// \f[ E\tilde Z^{-k} = \int_0^\infty \frac{t^{k-1}}{\Gamma(k)} e^{-q t} \varphi(t)^n dt,\quad
///     E \sum_j p_j^2 = n \int_0^\infty t\, \varphi''(t)\, \varphi(t)^{n-1} e^{-q t} dt,\quad
///     \varphi(t) = E\, e^{-t e^{\kappa(u\cdot x - 1)}} \f]
///
/// Source    derived: docs/theory/classification.md#inverse-partition-function; q = 1 if the query is a key.
/// Units     dimensionless.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), context_length >= 1.
/// Limits    kappa = 0: 1/(n + q), its square, 0, n/(n + q)^2; n = 1 without the query: e^kappa A_d(kappa) and IPR 1.
///           Without the query and for small n, rare contexts with no point near the query dominate the mean, and a
///           median says more. Infinity where a value exceeds the range of T.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa; numerics::QuadratureError.
/// Accuracy  1e-11 relative in double, for the variance 1e-11 + 2e-24 / kappa^2
///           (tests/classification/inverse_partition_function.cpp).
template <Real T>
InversePartitionFunction<T> inverse_partition_function(std::int64_t dimension, const T& kappa,
                                                       std::int64_t context_length, QueryToken query) {
  constexpr auto where = "classification::inverse_partition_function";
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  detail::require_partition_function_law(where, dimension, kappa, query);
  using std::exp;
  using std::log;
  const T even = exp(T(log(T(std::numeric_limits<T>::epsilon())) * T(0.375)));
  if (kappa < even) return detail::even_partition_function<T>(dimension, kappa, context_length, query);
  return detail::InversePartitionFunctionIntegrals<T>(dimension, kappa, context_length, query).all();
}

}  // namespace incontext::classification
