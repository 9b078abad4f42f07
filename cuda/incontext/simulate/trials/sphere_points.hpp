#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Points of the unit sphere, W trials side by side: a point is `dimension` rows of a Scratch.
namespace incontext::simulate::detail {

/// Standard normals from a block on.
template <int W, class T>
INCONTEXT_HD void draw_normals(const random::LaneStream<W>& stream, std::uint32_t first_block, int count,
                               Scratch<T, W> out) {
  constexpr int per_block = random::normals_per_block<T>;
  alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
  for (int first = 0; first < count; first += per_block) {
    random::normals(stream, first_block + static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < count; ++k) {
      T* __restrict__ row = out.row(first + k);
      for (int lane = 0; lane < W; ++lane) row[lane] = normal[k][lane];
    }
  }
}

template <int W, class T>
INCONTEXT_HD void normalise(Scratch<T, W> x, int dimension) {
  using std::sqrt;
  alignas(W >= 16 ? 64 : 8) T scale[W];
  fill<W>(scale, T(0));
  add_dot<W>(scale, x, x, dimension);
  for (int lane = 0; lane < W; ++lane) scale[lane] = T(1) / sqrt(scale[lane]);
  for (int i = 0; i < dimension; ++i) {
    T* __restrict__ row = x.row(i);
    for (int lane = 0; lane < W; ++lane) row[lane] *= scale[lane];
  }
}

/// The prototype of the largest inner product with x; the first of equals.
template <int W, class T>
INCONTEXT_HD void find_nearest(Scratch<T, W> prototypes, int classes, Scratch<T, W> x, int dimension, T* nearest) {
  alignas(W >= 16 ? 64 : 8) T best[W], product[W];
  fill<W>(best, T(0));
  fill<W>(nearest, T(0));
  for (int c = 0; c < classes; ++c) {
    fill<W>(product, T(0));
    add_dot<W>(product, prototypes.after(std::int64_t{c} * dimension), x, dimension);
    const T number = static_cast<T>(c);
    for (int lane = 0; lane < W; ++lane) {
      const bool nearer = c == 0 || product[lane] > best[lane];
      nearest[lane] = nearer ? number : nearest[lane];
      best[lane] = nearer ? product[lane] : best[lane];
    }
  }
}

}  // namespace incontext::simulate::detail
