#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/farther_points.hpp"
#include "incontext/classification/sparse_neighborhood.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::classification {

/// Mean of the largest weight of attention, with the query not a key, as n and kappa grow with lambda = n c_d kappa^-q
/// fixed.
///
/// \f[ E \max_j p_j =
///     \int_0^\infty e^{-v} dv \int_0^\infty e^{-\tau - \lambda \Phi(\tau, (v/\lambda)^{1/q})} d\tau \f]
/// \f[ \Phi(\tau, s_0) = q \int_0^\infty (s_0 + r)^{q-1} \left(1 - e^{-\tau e^{-r}}\right) dr,\quad q = \frac{d-1}2 \f]
///
/// Source    derived: docs/theory/classification.md#sparse-neighborhoods; v = lambda s_0^q is exponential for the
///           nearest point.
/// Units     lambda: mean number of points with kappa (1 - u.x) < 1.
/// Domain    2 <= dimension <= 300, lambda >= 0.
/// Limits    dimension 3: the self_weight of sparse_neighborhood, which has the same integral; lambda = 0: 1;
///           lambda -> 0, dimension > 2: 1 - ln 2 q Gamma(2 - 1/q) lambda^(1/q);
///           lambda -> infinity: 1/(lambda Gamma(q+1)).
/// Errors    std::invalid_argument for dimension, std::domain_error for lambda; numerics::QuadratureError.
/// Accuracy  1e-12 relative in double for dimension 3, 1e-3 against contexts and drawn points elsewhere
///           (tests/classification/sparse_largest_weight.cpp).
template <Real T>
T sparse_largest_weight(std::int64_t dimension, const T& lambda) {
  using std::exp;
  using std::log;
  constexpr auto where = "classification::sparse_largest_weight";
  detail::require_sparse_dimension(where, dimension);
  require_non_negative(where, "lambda", lambda);
  const T q = T(static_cast<double>(dimension - 1)) / T(2);
  if (!(T(0) < lambda)) return T(1);
  const T digits = T(4) - log(T(std::numeric_limits<T>::epsilon()));
  return detail::integral_from_zero<T>(where, T(1), digits, [&](const T& v) {
    const T log_nearest = std::min(T((log(v) - log(lambda)) / q), T(T(0.9) * log((std::numeric_limits<T>::max)())));
    const detail::FartherPoints<T> farther(dimension, lambda, T(exp(log_nearest)));
    return T(exp(T(-v)) * detail::nearest_share(where, farther));
  });
}

}  // namespace incontext::classification
