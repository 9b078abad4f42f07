#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/classification/sphere_constants.hpp"
#include "incontext/core/real.hpp"

/// Gauss-Legendre panels over the angle to the query, for integrands made of exp(-e^(s + kappa (cos - 1))) at any s.
namespace incontext::classification::detail {

inline constexpr int panel_nodes = 20;

/// Nodes and weights on [-1, 1] in increasing order.
template <Real T>
struct PanelRule {
  T node[panel_nodes], weight[panel_nodes];

  PanelRule() {
    using Rule = boost::math::quadrature::gauss<T, panel_nodes>;
    constexpr std::size_t half = panel_nodes / 2;
    for (std::size_t i = 0; i < half; ++i) {
      node[half + i] = Rule::abscissa()[i];
      node[half - 1 - i] = -Rule::abscissa()[i];
      weight[half + i] = weight[half - 1 - i] = Rule::weights()[i];
    }
  }

  static const PanelRule& instance() {
    static const PanelRule rule;
    return rule;
  }
};

/// Sum of f over the panels between neighboring edges.
template <Real T, class Function>
T panel_integral(const std::vector<T>& edges, const Function& f) {
  const auto& rule = PanelRule<T>::instance();
  T sum = T(0);
  for (std::size_t p = 0; p + 1 < edges.size(); ++p) {
    const T half = (edges[p + 1] - edges[p]) / T(2), middle = (edges[p + 1] + edges[p]) / T(2);
    T part = T(0);
    for (int i = 0; i < panel_nodes; ++i) part += rule.weight[i] * f(T(middle + half * rule.node[i]));
    sum += half * part;
  }
  return sum;
}

/// Edges that halve toward `point` from `from`, down to a distance of `least`.
template <Real T>
void add_graded_edges(std::vector<T>& edges, const T& point, const T& from, const T& least) {
  T distance = from - point;
  for (; (distance < T(0) ? -distance : distance) > least; distance /= T(2)) edges.push_back(point + distance);
}

/// Edges of panels on [0, pi] over which neither sin^(d-2) nor e^(kappa cos) changes by more than a few factors of e.
template <Real T>
std::vector<T> angle_edges(std::int64_t dimension, const T& kappa) {
  using std::asin;
  using std::ceil;
  using std::sqrt;
  const T pi = boost::math::constants::pi<T>();
  const double width = (std::min)(0.5, 2.0 / std::sqrt(static_cast<double>(dimension)));
  const int uniform = static_cast<int>(std::ceil(3.1416 / width));
  std::vector<T> edges{T(0), pi};
  for (int i = 1; i < uniform; ++i) edges.push_back(pi * T(double(i)) / T(double(uniform)));
  for (T drop = T(1.5); drop < T(2) * kappa; drop += T(1.5)) {
    edges.push_back(T(2) * asin(T(sqrt(T(drop / (T(2) * kappa))))));
  }
  return edges;
}

/// log cos without the rounding of a cosine near 1, which a high power magnifies.
template <Real T>
T log_cosine(const T& angle) {
  using std::cos;
  using std::log;
  using std::log1p;
  using std::sin;
  if (angle < T(-1) || T(1) < angle) return log(cos(angle));
  const T s = sin(T(angle / T(2)));
  return log1p(T(T(-2) * s * s));
}

/// The law of the angle to the query on fixed nodes, nearest first, under the exponent kappa (cos - 1).
template <Real T>
class AngleRule {
 public:
  AngleRule(std::int64_t dimension, const T& kappa, std::vector<T> edges) {
    using std::exp;
    using std::log;
    using std::sin;
    std::sort(edges.begin(), edges.end());
    const auto& rule = PanelRule<T>::instance();
    const T log_density = log(sphere_constants<T>(dimension).density);
    const T half_pi = boost::math::constants::half_pi<T>();
    const T power = T(static_cast<double>(dimension - 2));
    for (std::size_t p = 0; p + 1 < edges.size(); ++p) {
      const T half = (edges[p + 1] - edges[p]) / T(2), middle = (edges[p + 1] + edges[p]) / T(2);
      if (!(T(0) < half)) continue;
      for (int i = 0; i < panel_nodes; ++i) {
        const T angle = middle + half * rule.node[i], s = sin(T(angle / T(2)));
        angles.push_back(angle);
        exponents.push_back(T(-2) * kappa * s * s);
        shares.push_back(half * rule.weight[i] * exp(T(log_density + power * log_cosine(T(half_pi - angle)))));
      }
      half_widths.push_back(half);
    }
  }

  std::vector<T> angles, exponents, shares, half_widths;
};

/// Sums of values before and from each index on.
template <Real T>
struct PartialSums {
  std::vector<T> before, from;

  explicit PartialSums(const std::vector<T>& values) : before(values.size() + 1, T(0)), from(values.size() + 1, T(0)) {
    for (std::size_t i = 0; i < values.size(); ++i) before[i + 1] = before[i] + values[i];
    for (std::size_t i = values.size(); i-- > 0;) from[i] = from[i + 1] + values[i];
  }
};

}  // namespace incontext::classification::detail
