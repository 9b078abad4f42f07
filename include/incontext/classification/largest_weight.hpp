#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/largest_weight_integral.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Expected weight of the context point nearest to the query, among attention weights e^(kappa (u.x - 1)) / Z~.
///
/// \f[ E \max_j p_j = n \int dF(w)\, w \int_0^\infty e^{-t w - q t} \varphi_w(t)^{n-1} dt,\qquad
///     \varphi_w(t) = E[e^{-t w'}; w' \le w] \f]
///
/// Source    derived: docs/theory/classification.md#largest-weight; q = 1 if the query is a key.
/// Units     dimensionless.
/// Domain    2 <= dimension <= 1e6, 0 <= kappa <= 1e5 (1e4 if the query is not a key), context_length >= 1.
/// Limits    kappa = 0: 1/(n + q); n = 1 without the query: 1; kappa -> infinity without the query: 1.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa; numerics::QuadratureError.
/// Accuracy  1e-11 relative in double (tests/classification/largest_weight.cpp).
template <Real T>
T expected_largest_weight(std::int64_t dimension, const T& kappa, std::int64_t context_length, QueryToken query) {
  using std::log;
  constexpr auto where = "classification::expected_largest_weight";
  require_at_least(where, "context_length", context_length, std::int64_t{1});
  detail::require_partition_function_law(where, dimension, kappa, query);
  const T n = T(static_cast<double>(context_length));
  const T self = query == QueryToken::included ? T(1) : T(0);
  if (!(T(0) < kappa)) return T(1) / (n + self);
  const detail::LargestWeightIntegral<T> integrand(dimension, kappa, n, query);
  const T log_least = T(0) < self ? T(0) : T(log(n) - T(2) * kappa);
  const detail::LocatedIntegrals<T> integrals(log_least, log(T(n + self)));
  std::vector<T> sizes;
  for (const T& s : integrals.grid()) sizes.push_back(log(integrand(s)));
  return integrals(where, sizes, integrand);
}

}  // namespace incontext::classification
