#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Points of the unit sphere for W trials side by side: a point is a vector of `dimension` Lanes.
namespace incontext::simulate::detail {

/// Divides a vector by its length.
template <class T, int W>
INCONTEXT_HD void normalize(LaneArray<T, W> x, int dimension) {
  const Lanes<T, W> scale = T(1) / sqrt(dot(x, x, dimension));
  for (int i = 0; i < dimension; ++i) x[i] *= scale;
}

/// The prototype of the largest inner product with x; the first of equals.
template <class T, int W>
INCONTEXT_HD Lanes<T, W> find_nearest(LaneArray<T, W> prototypes, int classes, LaneArray<T, W> x, int dimension) {
  Lanes<T, W> best(T(0)), nearest(T(0));
  for (int c = 0; c < classes; ++c) {
    const Lanes<T, W> product = dot(prototypes.after(std::int64_t{c} * dimension), x, dimension);
    const T number = static_cast<T>(c);
    for (int lane = 0; lane < W; ++lane) {
      const bool nearer = c == 0 || product[lane] > best[lane];
      nearest[lane] = nearer ? number : nearest[lane];
      best[lane] = nearer ? product[lane] : best[lane];
    }
  }
  return nearest;
}

}  // namespace incontext::simulate::detail
