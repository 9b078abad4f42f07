#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Points of the unit sphere for W trials side by side: a point is a vector of `dimension` Lanes.
namespace incontext::simulate::detail {

/// Prototypes, each uniform on the sphere: of trial i if `sets` is 0, else those that trial i mod sets draws, which
/// many trials share.
template <class T, int W>
INCONTEXT_HD void draw_prototypes(random::Trials<W> trials, std::int64_t sets, LaneArray<T, W> prototypes, int classes,
                                  int dimension) {
  const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
  const random::LaneStream stream(trials, random::SphereStream::prototypes);
  for (int c = 0; c < classes && sets == 0 && !stop_requested(); ++c) {
    draw_sphere_point(prototypes.after(std::int64_t{c} * dimension), stream, static_cast<std::uint32_t>(c) * blocks,
                      dimension);
  }
  for (int lane = 0; lane < W && sets > 0; ++lane) {
    const std::uint64_t set = (trials.first + static_cast<std::uint64_t>(lane)) % static_cast<std::uint64_t>(sets);
    const random::LaneStream own(random::Trials<1>{trials.seed, set}, random::SphereStream::prototypes);
    for (int c = 0; c < classes && !stop_requested(); ++c) {
      const LaneArray<T, 1> prototype{prototypes.after(std::int64_t{c} * dimension).base + lane, prototypes.stride};
      draw_sphere_point(prototype, own, static_cast<std::uint32_t>(c) * blocks, dimension);
    }
  }
}

/// Divides a vector by its length.
template <class T, int W>
INCONTEXT_HD void normalize(LaneArray<T, W> x, int dimension) {
  const Lanes<T, W> scale = T(1) / sqrt(dot(x, x, dimension));
  for (int i = 0; i < dimension; ++i) x[i] *= scale;
}

/// Where `value` is above the best so far, makes it the best, and `number` the place of the best. One loop for each:
/// g++ makes one branch of two choices by the same condition, and does not vectorize it without AVX.
template <class T, int W>
INCONTEXT_HD void raise_best(Lanes<T, W>& __restrict__ best, Lanes<T, W>& __restrict__ place,
                             const Lanes<T, W>& __restrict__ value, T number) {
  for (int lane = 0; lane < W; ++lane) place[lane] = value[lane] > best[lane] ? number : place[lane];
  for (int lane = 0; lane < W; ++lane) best[lane] = value[lane] > best[lane] ? value[lane] : best[lane];
}

/// The prototype of the largest inner product with x; the first of equals.
template <class T, int W>
INCONTEXT_HD Lanes<T, W> find_nearest(LaneArray<T, W> prototypes, int classes, LaneArray<T, W> x, int dimension) {
  Lanes<T, W> best = dot(prototypes, x, dimension), nearest(T(0));
  for (int c = 1; c < classes; ++c) {
    const Lanes<T, W> product = dot(prototypes.after(std::int64_t{c} * dimension), x, dimension);
    raise_best(best, nearest, product, static_cast<T>(c));
  }
  return nearest;
}

}  // namespace incontext::simulate::detail
