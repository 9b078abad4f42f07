#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"

namespace incontext::random {

/// The number of counters that a point of the given dimension takes.
///
/// Runs on   host and device
template <class T>
INCONTEXT_HD constexpr std::uint32_t sphere_blocks(int dimension) {
  return static_cast<std::uint32_t>((dimension + normals_per_block<T> - 1) / normals_per_block<T>);
}

/// A uniform point of the unit sphere for each of W trials: a normal vector over its length.
///
/// \f[ u = g / |g|,\quad g \sim N(0, I_d) \f]
///
/// Source    Muller 1959; see docs/theory/statistics.md#sphere-points.
/// Shapes    component i of trial lane at out[i * stride + lane].
/// Units     unit vectors.
/// Domain    dimension >= 1 (1: a sign).
/// Limits    all normals 0, which in float and dimension 2 one point in 2^24 has: the first axis.
/// Accuracy  length 1 to 4 + d/4 eps; moments of the cosine to the fourth: tests/random/sphere.cpp.
/// Random    sphere_blocks counters from first_block on; bits depend on neither libm, compiler, nor instruction set.
/// Runs on   host and device
template <int W, class T>
INCONTEXT_HD void sphere_point(const LaneStream<W>& stream, std::uint32_t first_block, int dimension, T* out,
                               std::int64_t stride) {
  constexpr int per_block = normals_per_block<T>;
  Lanes<T, W> normal[per_block];
  Lanes<T, W> scale(T(0));
  for (int first = 0; first < dimension; first += per_block) {
    normals(stream, first_block + static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < dimension; ++k) {
      T* __restrict__ row = out + (first + k) * stride;
      for (int lane = 0; lane < W; ++lane) {
        row[lane] = normal[k][lane];
        scale[lane] += normal[k][lane] * normal[k][lane];
      }
    }
  }
  for (int lane = 0; lane < W; ++lane) {
    const bool lost = !(T(0) < scale[lane]);
    out[lane] = lost ? T(1) : out[lane];
    scale[lane] = lost ? T(1) : scale[lane];
  }
  scale = T(1) / sqrt(scale);
  for (int i = 0; i < dimension; ++i) {
    T* __restrict__ row = out + i * stride;
    for (int lane = 0; lane < W; ++lane) row[lane] *= scale[lane];
  }
}

}  // namespace incontext::random
