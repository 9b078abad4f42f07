#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

/// Means over independent N(0, 1) of polynomials, as sums over a product of Gauss-Hermite rules: exact but for
/// rounding.
namespace incontext::testing {

/// The rule of 2, 3 or 5 points, exact to degree 3, 5 or 9 in the variable.
inline std::vector<std::pair<double, double>> hermite_rule(int points) {
  if (points == 2) return {{-1, 0.5}, {1, 0.5}};
  if (points == 3) return {{-std::sqrt(3.0), 1.0 / 6}, {0, 2.0 / 3}, {std::sqrt(3.0), 1.0 / 6}};
  const double root = std::sqrt(10.0), near = std::sqrt(5 - root), far = std::sqrt(5 + root);
  const double near_weight = (7 + 2 * root) / 60, far_weight = (7 - 2 * root) / 60;
  return {{-far, far_weight}, {-near, near_weight}, {0, 8.0 / 15}, {near, near_weight}, {far, far_weight}};
}

/// Calls visit(weight, values) at every node, with as many points in each variable as given.
template <class Visit>
void each_node(const std::vector<int>& points, const Visit& visit) {
  std::vector<double> values(points.size());
  const std::function<void(std::size_t, double)> descend = [&](std::size_t at, double weight) {
    if (at == points.size()) return visit(weight, values);
    for (const auto& [value, share] : hermite_rule(points[at])) {
      values[at] = value;
      descend(at + 1, weight * share);
    }
  };
  descend(0, 1);
}

}  // namespace incontext::testing
