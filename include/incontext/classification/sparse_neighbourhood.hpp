#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/quadrature.hpp"

/// Attention in the limit of long contexts and narrow kernels where the number of points within reach of the query
/// stays finite: a Poisson process.
namespace incontext::classification {

/// Attention over a Poisson neighbourhood on the sphere in three dimensions.
///
/// Units     dimensionless.
/// Runs on   host
template <Real T>
struct SparseNeighbourhood {
  T self_weight;    ///< J = E 1/(1 + S~): the mean weight of the query among keys that include it
  T participation;  ///< E sum_j p_j^2 without the query
};

namespace detail {

/// The entire exponential integral: int_0^t (1 - e^(-u))/u du.
template <Real T>
T entire_exponential_integral(const T& t) {
  using std::log;
  if (t <= T(1)) {
    T sum = T(0), term = T(-1);
    for (T k = T(1); k < T(200); k += T(1)) {
      term *= -t / k;
      sum += term / k;
      if ((term < T(0) ? -term : term) <= std::numeric_limits<T>::epsilon() / T(8) * sum) break;
    }
    return sum;
  }
  return boost::math::expint(1, t) + log(t) + boost::math::constants::euler<T>();
}

}  // namespace detail

/// Attention over points of the sphere in three dimensions as n and kappa grow with lambda = n / (2 kappa) fixed.
///
/// \f[ J(\lambda) = \int_0^\infty e^{-t - \lambda \mathrm{Ein}(t)} dt,\qquad
///     E \sum_j p_j^2 = 1 - \lambda J(\lambda) =
///     \lambda \int_0^\infty \frac{1 - (1 + t) e^{-t}}{t} e^{-\lambda \mathrm{Ein}(t)} dt \f]
///
/// Source    derived: the kernel mass has a generalised Dickman law. The second form of the participation, which has
///           no difference, from lambda = 1.
/// Units     lambda: mean number of points with kappa (1 - u.x) < 1.
/// Domain    lambda >= 0.
/// Limits    lambda = 0: J = 1, participation 1; J(1) = e^-gamma; lambda -> infinity: J -> 1/lambda,
///           participation -> 1/(2 lambda).
/// Errors    std::domain_error; laws::QuadratureError.
/// Accuracy  1e-12 relative in double (tests/classification/sparse_neighbourhood.cpp).
/// Runs on   host
template <Real T>
SparseNeighbourhood<T> sparse_neighbourhood(const T& lambda) {
  using std::exp;
  using std::log;
  constexpr auto where = "classification::sparse_neighbourhood";
  require_non_negative(where, "lambda", lambda);
  if (!(T(0) < lambda)) return {T(1), T(1)};
  const T digits = -log(T(std::numeric_limits<T>::epsilon())) + T(4), log_scale = -log(T(T(1) + lambda));
  const auto integral = [&](const T& low, const T& high, const auto& f) {
    return laws::integrate_bump<T>(where,
                                   [&](const T& u) { return T((high - low) * f(T(exp(T(low + (high - low) * u))))); })
        .value;
  };
  const T top = log(digits);
  const T self = integral(T(log_scale - digits), top, [&](const T& t) {
    return T(t * exp(T(-t - lambda * detail::entire_exponential_integral(t))));
  });
  if (lambda < T(1)) return {self, T(1) - lambda * self};
  // e^(-lambda Ein(t)) falls like t^-lambda
  const T high = digits / lambda < top ? top : T(digits / lambda);
  const T participation = integral(T(log_scale - digits), high, [&](const T& t) {
    return T(boost::math::gamma_p(T(2), t) * exp(T(-lambda * detail::entire_exponential_integral(t))));
  });
  return {self, lambda * participation};
}

}  // namespace incontext::classification
