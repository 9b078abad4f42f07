#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "classification/sphere.hpp"

/// Contexts drawn around a query by brute force: points of the sphere, weights, sums.
namespace incontext::testing {

/// Cosines to the query of n independent uniform points.
inline std::vector<double> drawn_cosines(SpherePoints& points, int n) {
  std::vector<double> cosines;
  for (int j = 0; j < n; ++j) cosines.push_back(points.draw()[0]);
  return cosines;
}

/// One balanced context of two classes: kernel sums of the query's side and of the other, in units of e^kappa. The
/// boundary's normal is the second axis turned toward the query, which is the first.
struct SideSums {
  double same = 0, other = 0;
  double linear = 0;  ///< sum of signed cosines
};

inline SideSums drawn_sides(SpherePoints& points, int n, double kappa, double angle) {
  SideSums sums;
  int same = 0, other = 0;
  while (same + other < n) {
    const auto u = points.draw();
    const bool correct = u[0] * std::sin(angle) + u[1] * std::cos(angle) > 0;
    if ((correct ? same : other) == n / 2) continue;
    (correct ? same : other) += 1;
    (correct ? sums.same : sums.other) += std::exp(kappa * (u[0] - 1));
    sums.linear += correct ? u[0] : -u[0];
  }
  return sums;
}

}  // namespace incontext::testing
