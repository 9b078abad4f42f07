#pragma once

#include <Eigen/Core>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/legendre.hpp>

#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines::detail {

/// Gauss and Legendre's rule on [-1, 1], with the integrals from -1 to each of its places.
template <Real T, int Points>
struct PanelRule {
  Eigen::Array<T, Points, 1> places, weights;
  /// antiderivative * values = the integrals from -1 to the places, exact for polynomials of degree Points - 1.
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> antiderivative;

  static const PanelRule& get() {
    static const PanelRule rule;
    return rule;
  }

 private:
  PanelRule() : antiderivative(Points, Points) {
    using Half = boost::math::quadrature::gauss<T, Points>;
    for (int i = 0; i < Points; ++i) {
      const auto pair = static_cast<std::size_t>(i / 2);
      places(i) = i % 2 == 0 ? -Half::abscissa()[pair] : Half::abscissa()[pair];
      weights(i) = Half::weights()[pair];
    }
    // An interpolant is the sum of (m + 1/2) P_m(x) sum_k w_k P_m(x_k) f(x_k), and (2m + 1) P_m = P_{m+1}' - P_{m-1}'.
    const auto legendre = [this](int m, int i) { return boost::math::legendre_p(m, places(i)); };
    for (int i = 0; i < Points; ++i) {
      for (int k = 0; k < Points; ++k) {
        T sum = places(i) + T(1);
        for (int m = 1; m < Points; ++m) sum += legendre(m, k) * (legendre(m + 1, i) - legendre(m - 1, i));
        antiderivative(i, k) = weights(k) * sum / T(2);
      }
    }
  }
};

}  // namespace incontext::baselines::detail
