#pragma once

#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cstddef>
#include <limits>

#include "incontext/core/real.hpp"

namespace incontext::laws::detail {

/// The Gauss-Legendre rule on [-1, 1]. Weighted values at the nodes j, times running[j][i], sum up to the integral from
/// -1 to node i of the polynomial through the values.
template <Real T>
struct RunningRule {
  static constexpr std::size_t order = std::numeric_limits<T>::digits > 64 ? 60 : 20;
  using Values = std::array<T, order>;

  RunningRule() {
    using Rule = boost::math::quadrature::gauss<T, order>;
    for (std::size_t i = 0; i < order / 2; ++i) {
      node[order / 2 + i] = Rule::abscissa()[i];
      node[order / 2 - 1 - i] = -Rule::abscissa()[i];
      weight[order / 2 + i] = weight[order / 2 - 1 - i] = Rule::weights()[i];
    }
    std::array<std::array<T, order + 1>, order> legendre;
    for (std::size_t i = 0; i < order; ++i) {
      legendre[i][0] = T(1);
      legendre[i][1] = node[i];
      for (std::size_t m = 1; m < order; ++m) {
        const T rise = T(double(2 * m + 1)) * node[i] * legendre[i][m] - T(double(m)) * legendre[i][m - 1];
        legendre[i][m + 1] = rise / T(double(m + 1));
      }
    }
    // (2 m + 1) times the integral of P_m is P_(m + 1) - P_(m - 1)
    for (std::size_t j = 0; j < order; ++j) {
      for (std::size_t i = 0; i < order; ++i) {
        T sum = node[i] + T(1);
        for (std::size_t m = 1; m < order; ++m) sum += legendre[j][m] * (legendre[i][m + 1] - legendre[i][m - 1]);
        running[j][i] = sum / T(2);
      }
    }
  }

  Values node, weight;
  std::array<Values, order> running;
};

}  // namespace incontext::laws::detail
