#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Attention in the limit of long contexts and narrow kernels where the number of points within reach of the query
/// stays finite; these points are a Poisson process.
namespace incontext::classification {

/// Moments of the weights of attention over a Poisson neighborhood.
template <Real T>
struct SparseNeighborhood {
  T self_weight;  ///< J = E 1/(1 + Z~): the mean weight of the query among keys that include it
  T ipr;          ///< E sum_j p_j^2 without the query
};

/// Attention over points of the sphere in three dimensions as n and kappa grow with lambda = n / (2 kappa) fixed.
///
/// \f[ J(\lambda) = \int_0^\infty e^{-t - \lambda \mathrm{Ein}(t)} dt,\qquad
///     E \sum_j p_j^2 = 1 - \lambda J(\lambda) =
///     \lambda \int_0^\infty \frac{1 - (1 + t) e^{-t}}{t} e^{-\lambda \mathrm{Ein}(t)} dt \f]
///
/// Source    derived: docs/theory/classification.md#sparse-neighborhoods: the law is a generalized Dickman law. The
///           second form of the inverse participation ratio, which has no difference, is used from lambda = 1 on.
/// Units     lambda: mean number of points with kappa (1 - u.x) < 1.
/// Domain    lambda >= 0.
/// Limits    lambda = 0: J = 1, IPR 1; J(1) = e^-gamma; lambda -> infinity: J -> 1/lambda,
///           inverse participation ratio -> 1/(2 lambda).
/// Errors    std::domain_error for lambda outside the domain; numerics::QuadratureError.
/// Accuracy  1e-12 relative in double (tests/classification/sparse_neighborhood.cpp).
template <Real T>
SparseNeighborhood<T> sparse_neighborhood(const T& lambda);

/// Attention over points of the sphere in any dimension as n and kappa grow with lambda = n c_d kappa^-q fixed.
///
/// \f[ J(\lambda) = \int_0^\infty e^{-t - \lambda\Psi(t)} dt,\qquad
///     E \sum_j p_j^2 = -\lambda \int_0^\infty t\, \Psi''(t)\, e^{-\lambda\Psi(t)} dt \f]
/// \f[ \Psi(t) = q \int_0^\infty s^{q-1} \left(1 - e^{-t e^{-s}}\right) ds,\qquad q = \frac{d - 1}{2} \f]
///
/// Source    derived: docs/theory/classification.md#sparse-neighborhoods: the numbers kappa (1 - u.x) of the points are
///           a Poisson process of intensity lambda q s^(q-1). Trapezoidal rule in log t, Gauss-Legendre panels over s.
/// Units     lambda: mean number of points with kappa (1 - u.x) < 1.
/// Domain    2 <= dimension <= 300, lambda >= 0.
/// Limits    dimension 3: the overload without a dimension; lambda = 0: J = 1, IPR 1;
///           lambda -> infinity: J -> 1/(lambda Gamma(q+1)), IPR -> 2^-q/(lambda Gamma(q+1));
///           lambda -> 0, dimension > 2: IPR -> 1 - q Gamma(2 - 1/q) lambda^(1/q).
/// Errors    std::invalid_argument for dimension, std::domain_error for lambda; numerics::QuadratureError.
/// Accuracy  1e-11 relative in double, dimension to 100 (tests/classification/sparse_neighborhood.cpp).
template <Real T>
SparseNeighborhood<T> sparse_neighborhood(std::int64_t dimension, const T& lambda);

// The Laplace transform of the partition function of a Poisson neighborhood.
namespace detail {

/// Accepts a dimension in which lambda Gamma(q + 1) does not overflow for any lambda of interest.
inline void require_sparse_dimension(std::string_view where, std::int64_t dimension) {
  constexpr std::int64_t largest = 300;
  require_at_least(where, "dimension", dimension, std::int64_t{2});
  if (dimension > largest) {
    throw_invalid_argument(where, "dimension is too large for its integral", dimension, "at most 300");
  }
}

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

/// Nodes of Gauss-Legendre panels, and their weights (`share`).
template <Real T>
struct Nodes {
  std::vector<T> at, share;

  void add_panels(const T& from, const T& to, const T& width) {
    using std::ceil;
    const auto count = static_cast<std::size_t>(ceil(static_cast<double>(T((to - from) / width))));
    const auto& rule = PanelRule<T>::instance();
    const T half = (to - from) / T(2.0 * static_cast<double>(count));
    for (std::size_t p = 0; p < count; ++p) {
      const T middle = from + half * T(2.0 * static_cast<double>(p) + 1);
      for (int i = 0; i < panel_nodes; ++i) {
        at.push_back(middle + half * rule.node[i]);
        share.push_back(half * rule.weight[i]);
      }
    }
  }
};

/// Minus the logarithm of the partition function's Laplace transform, lambda Psi(t), and -lambda t^2 Psi''(t), both at
/// t = e^u.
///
/// Psi is the mean of ((u + g)_+)^q over a standard Gumbel variate g. For large u it is a power of u and a correction
/// from an interval of width about 1.
template <Real T>
class PoissonPartitionFunction {
 public:
  struct Values {
    T exponent, second;
  };

  PoissonPartitionFunction(std::int64_t dimension, const T& lambda)
      : q_(T(static_cast<double>(dimension - 1)) / T(2)), log_lambda_(log_of(lambda)) {
    using std::sqrt;
    const T digits = -log_of(T(std::numeric_limits<T>::epsilon())) + T(4);
    // a gamma variate of shape q exceeds this with probability e^-digits
    const T reach = q_ + sqrt(T(T(2) * q_ * digits)) + digits;
    // near the query the variable is sqrt(s), in which q s^(q-1) ds is a polynomial
    Nodes<T> roots;
    roots.add_panels(T(0), T(3.2), T(0.2));
    roots.add_panels(T(3.2), sqrt(T(far_edge + reach)), T(0.7));
    for (std::size_t i = 0; i < roots.at.size(); ++i) {
      near_.at.push_back(roots.at[i] * roots.at[i]);
      near_.share.push_back(log_of(T(T(2) * q_ * roots.share[i])) + (T(2) * q_ - T(1)) * log_of(roots.at[i]));
    }
    offsets_.add_panels(T(-certain), T(3), T(1.5));
    offsets_.add_panels(T(3), reach, T(3));
  }

  Values operator()(const T& u) const {
    using std::exp;
    Values sum{T(0), T(0)};
    if (u <= T(far_edge)) {
      for (std::size_t i = 0; i < near_.at.size(); ++i) add(sum, T(log_lambda_ + near_.share[i]), T(u - near_.at[i]));
      return sum;
    }
    sum.exponent = exp(T(log_lambda_ + q_ * log_of(T(u - T(certain)))));
    const T log_rate = log_lambda_ + log_of(q_);
    for (std::size_t i = 0; i < offsets_.at.size(); ++i) {
      const T r = offsets_.at[i];
      add(sum, T(log_rate + (q_ - T(1)) * log_of(T(u + r)) + log_of(offsets_.share[i])), T(-r));
    }
    return sum;
  }

 private:
  static constexpr int far_edge = 8, certain = 6;  // exp(-e^6) is 0

  static T log_of(const T& x) {
    using std::log;
    return log(x);
  }

  static void add(Values& sum, const T& log_share, const T& y) {
    using std::exp;
    using std::expm1;
    const T tw = exp(y), share = exp(log_share);
    sum.exponent -= share * expm1(T(-tw));
    sum.second += share * tw * tw * exp(T(-tw));
  }

  T q_, log_lambda_;
  Nodes<T> near_, offsets_;  // near_ with the logs of its shares
};

}  // namespace detail

template <Real T>
SparseNeighborhood<T> sparse_neighborhood(const T& lambda) {
  using std::exp;
  using std::log;
  constexpr auto where = "classification::sparse_neighborhood";
  require_non_negative(where, "lambda", lambda);
  if (!(T(0) < lambda)) return {T(1), T(1)};
  const T rounding = std::numeric_limits<T>::epsilon();
  if (T(1) / lambda < rounding * rounding) return {T(1) / lambda, T(0.5) / lambda};
  const T digits = -log(T(std::numeric_limits<T>::epsilon())) + T(4), log_scale = -log(T(T(1) + lambda));
  const auto integral = [&](const T& low, const T& high, const auto& f) {
    return numerics::integrate_bump<T>(
               where, [&](const T& u) { return T((high - low) * f(T(exp(T(low + (high - low) * u))))); })
        .value;
  };
  const T top = log(digits);
  const T self = integral(T(log_scale - digits), top, [&](const T& t) {
    return T(t * exp(T(-t - lambda * detail::entire_exponential_integral(t))));
  });
  if (lambda < T(1)) return {self, T(1) - lambda * self};
  // e^(-lambda Ein(t)) falls like t^-lambda
  const T high = digits / lambda < top ? top : T(digits / lambda);
  const T ipr = integral(T(log_scale - digits), high, [&](const T& t) {
    return T(boost::math::gamma_p(T(2), t) * exp(T(-lambda * detail::entire_exponential_integral(t))));
  });
  return {self, lambda * ipr};
}

template <Real T>
SparseNeighborhood<T> sparse_neighborhood(std::int64_t dimension, const T& lambda) {
  using std::asinh;
  using std::cosh;
  using std::exp;
  using std::log;
  using std::sinh;
  constexpr auto where = "classification::sparse_neighborhood";
  detail::require_sparse_dimension(where, dimension);
  require_non_negative(where, "lambda", lambda);
  const T q = T(static_cast<double>(dimension - 1)) / T(2);
  const T digits = -log(T(std::numeric_limits<T>::epsilon())) + T(4);
  const T log_reach = T(0) < lambda ? T((log(T(T(2) * digits)) - log(lambda)) / q) : T(1e4);
  if (T(0.9) * log((std::numeric_limits<T>::max)()) < log_reach) return {T(1), T(1)};
  const detail::PoissonPartitionFunction<T> law(dimension, lambda);
  // the transform falls near t = e^center; it changes with powers of t below and with powers of log t above
  const T log_mean_sum = log(lambda) + boost::math::lgamma(T(q + T(1)));
  const T center = log_mean_sum < T(0) ? T(0) : T(-log_mean_sum);
  const T low = -asinh(T(digits / T(2)));
  const auto integral = [&](const T& high_u, const auto& f) {
    const T width = asinh(T((high_u - center) / T(2))) - low;
    return numerics::integrate_bump<T>(where,
                                       [&](const T& v) {
                                         const T w = low + width * v, u = center + T(2) * sinh(w);
                                         return T(T(2) * width * cosh(w) * f(u));
                                       })
        .value;
  };
  const T self = integral(log(digits), [&](const T& u) { return T(exp(T(u - exp(u) - law(u).exponent))); });
  const T ipr = integral(T(exp(log_reach) + T(10)), [&](const T& u) {
    const auto at = law(u);
    return T(at.second * exp(T(-at.exponent)));
  });
  return {self, ipr};
}

INCONTEXT_COMPILED_DECLARATION(classification_sparse_neighborhood,
                               SparseNeighborhood<double> sparse_neighborhood(const double&));
INCONTEXT_COMPILED_DECLARATION(classification_sparse_neighborhood,
                               SparseNeighborhood<double> sparse_neighborhood(std::int64_t, const double&));

}  // namespace incontext::classification
