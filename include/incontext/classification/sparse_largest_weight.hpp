#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "incontext/classification/sparse_neighborhood.hpp"
#include "incontext/core/compiled.hpp"
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
T sparse_largest_weight(std::int64_t dimension, const T& lambda);

namespace detail {

/// The points of the Poisson neighborhood that are farther than a point at s0: their part in the largest weight's
/// Laplace integral.
template <Real T>
class FartherPoints {
 public:
  FartherPoints(std::int64_t dimension, const T& lambda, const T& nearest) {
    using std::exp;
    using std::log;
    using std::sqrt;
    const T q = T(static_cast<double>(dimension - 1)) / T(2),
            digits = -log(T(std::numeric_limits<T>::epsilon())) + T(4);
    const T reach = q + sqrt(T(T(2) * q * digits)) + digits, log_rate = log(lambda) + log(q);
    if (T(1) < nearest) {
      nodes_.add_panels(T(0), T(6), T(0.75));
      nodes_.add_panels(T(6), reach, T(3));
      for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
        nodes_.share[i] *= exp(T(log_rate + (q - T(1)) * log(T(nearest + nodes_.at[i]))));
      }
      return;
    }
    // in the variable sqrt(s), in which q s^(q-1) ds is a polynomial
    const T low = sqrt(nearest);
    nodes_.add_panels(low, T(3.5), T(0.4));
    nodes_.add_panels(T(3.5), sqrt(T(T(1) + reach)), T(0.7));
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
      const T x = nodes_.at[i];
      nodes_.share[i] *= T(2) * exp(T(log_rate + (T(2) * q - T(1)) * log(x)));
      nodes_.at[i] = (x - low) * (x + low);
    }
  }

  /// The mean of the farther points' partition function, in units of the kernel at s0:
  /// lambda q int_0^infinity (s0 + r)^(q-1) e^-r dr.
  T mean_partition_function() const {
    using std::exp;
    T sum = T(0);
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) sum += nodes_.share[i] * exp(T(-nodes_.at[i]));
    return sum;
  }

  /// lambda q int_0^infinity (s0 + r)^(q-1) (1 - exp(-tau e^-r)) dr
  T operator()(const T& tau) const {
    using std::exp;
    using std::expm1;
    T sum = T(0);
    for (std::size_t i = 0; i < nodes_.at.size(); ++i) {
      sum -= nodes_.share[i] * expm1(T(-tau * exp(T(-nodes_.at[i]))));
    }
    return sum;
  }

 private:
  Nodes<T> nodes_;
};

/// int_0^infinity f(v) dv by the substitution v = scale exp(w - e^-w), for an f that is smooth except at 0 and
/// negligible beyond `most` scales.
template <Real T, class Function>
T integral_from_zero(std::string_view where, const T& scale, const T& most, const Function& f) {
  using std::exp;
  using std::log;
  const T low = -log(T(T(4) - log(T(std::numeric_limits<T>::epsilon())))), width = log(most) - low;
  return numerics::integrate_bump<T>(where,
                                     [&](const T& u) {
                                       const T w = low + width * u, slope = exp(T(-w)), v = scale * exp(T(w - slope));
                                       return T(width * (T(1) + slope) * v * f(v));
                                     })
      .value;
}

/// E 1/(1 + Z), where Z is the partition function of the farther points in units of the nearest point's kernel.
template <Real T>
T nearest_share(std::string_view where, const FartherPoints<T>& farther) {
  using std::exp;
  using std::log;
  const T digits = T(4) - log(T(std::numeric_limits<T>::epsilon()));
  const T scale = T(1) / (T(1) + farther.mean_partition_function());
  T most = digits;
  for (int i = 0; i < 2000 && scale * most + farther(T(scale * most)) < digits; ++i) most *= T(2);
  return integral_from_zero<T>(where, scale, most, [&](const T& tau) { return T(exp(T(-tau - farther(tau)))); });
}

}  // namespace detail

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
    const T log_nearest = (std::min)(T((log(v) - log(lambda)) / q), T(T(0.9) * log((std::numeric_limits<T>::max)())));
    const detail::FartherPoints<T> farther(dimension, lambda, T(exp(log_nearest)));
    return T(exp(T(-v)) * detail::nearest_share(where, farther));
  });
}

INCONTEXT_COMPILED(classification_sparse_largest_weight, sparse_largest_weight<double>);

}  // namespace incontext::classification
