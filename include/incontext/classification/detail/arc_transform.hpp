#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/partition_function_law.hpp"
#include "incontext/core/real.hpp"

/// The Laplace transform of the kernel over an arc of the circle, on nodes that suit every concentration.
namespace incontext::classification::detail {

/// One class's arc on nodes: shares that sum to 1, and exponents kappa (cos - 1) of the kernel.
template <Real T>
struct ArcRule {
  std::vector<T> shares, exponents;

  ArcRule(const T& kappa, const T& low, const T& width) {
    using std::sin;
    const T turn = boost::math::constants::two_pi<T>(), high = low + width;
    std::vector<T> edges{low, high};
    for (const T& edge : angle_edges<T>(2, kappa)) {
      for (const T& whole : {T(-turn), T(0), turn, T(T(2) * turn)}) {
        for (const T& at : {T(whole + edge), T(whole - edge)}) {
          if (low < at && at < high) edges.push_back(at);
        }
      }
    }
    std::sort(edges.begin(), edges.end());
    const auto& rule = PanelRule<T>::instance();
    for (std::size_t p = 0; p + 1 < edges.size(); ++p) {
      const T half = (edges[p + 1] - edges[p]) / T(2), middle = (edges[p + 1] + edges[p]) / T(2);
      if (!(T(0) < half)) continue;
      for (int i = 0; i < panel_nodes; ++i) {
        const T s = sin(T((middle + half * rule.node[i]) / T(2)));
        shares.push_back(half * rule.weight[i] / width);
        exponents.push_back(T(-2) * kappa * s * s);
      }
    }
  }
};

/// log E e^(-t w) and E t w e^(-t w) at t = e^s of a point of a cell.
template <Real T>
struct ArcTransform {
  T log_psi, first;
};

template <Real T>
ArcTransform<T> transform_of(const ArcRule<T>& rule, const T& s) {
  using std::exp;
  using std::expm1;
  T share = T(0), complement = T(0), first = T(0);
  for (std::size_t i = 0; i < rule.shares.size(); ++i) {
    const T tw = exp(T(s + rule.exponents[i])), fall = expm1(T(-tw));
    share += rule.shares[i] * (T(1) + fall);
    complement -= rule.shares[i] * fall;
    first += rule.shares[i] * (T(1) + fall) * tw;
  }
  return {log_of_share(share, complement), first};
}

}  // namespace incontext::classification::detail
