#pragma once

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"

/// The Laplace transform of the partition function of a Poisson neighborhood.
namespace incontext::classification::detail {

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
    roots.add_panels(T(3.2), sqrt(T(far + reach)), T(0.7));
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
    if (u <= T(far)) {
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
  static constexpr int far = 8, certain = 6;  // exp(-e^6) is 0

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

}  // namespace incontext::classification::detail
