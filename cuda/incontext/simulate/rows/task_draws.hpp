#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/random/uniform.hpp"

/// The numbers of one item of a task, from its stream.
namespace incontext::simulate::detail {

/// The first `count` standard normals of one stream.
template <class T>
INCONTEXT_HD void draw_normals(std::uint64_t seed, std::uint64_t index, random::TaskStream stream, std::int64_t count,
                               T* out) {
  constexpr int per_block = random::normals_per_block<T>;
  const random::LaneStream<1> lanes({seed, index}, stream);
  for (std::int64_t first = 0; first < count; first += per_block) {
    Lanes<T, 1> normal[per_block];
    random::normals(lanes, static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < count; ++k) out[first + k] = normal[k][0];
  }
}

/// The first `count` numbers of one stream, uniform on (0, 1).
template <class T>
INCONTEXT_HD void draw_uniforms(std::uint64_t seed, std::uint64_t index, random::TaskStream stream, std::int64_t count,
                                T* out) {
  constexpr int per_block = random::normals_per_block<T>;
  for (std::int64_t first = 0; first < count; first += per_block) {
    std::uint32_t words[4];
    random::philox(seed, {index, static_cast<std::uint32_t>(first / per_block), random::StreamTag(stream).number()},
                   words);
    for (int k = 0; k < per_block && first + k < count; ++k) {
      if constexpr (sizeof(T) == 4) {
        out[first + k] = random::uniform_open(words[k]);
      } else {
        out[first + k] = random::uniform_open(words[2 * k], words[2 * k + 1]);
      }
    }
  }
}

}  // namespace incontext::simulate::detail
