#pragma once

#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

/// Where a score first occurs in a row; the row's size if it does not. Every lane keeps its first place in a stretch.
template <class T>
INCONTEXT_HD std::ptrdiff_t first_place_of(const T& score, Row<const T> row) {
  constexpr int width = pack_width<T>, stretch = 8 * row_block;
  T lanes[width];
  for (int l = 0; l < width; ++l) lanes[l] = static_cast<T>(l);
  const Pack<T> from_first_lane = load_pack(lanes);
  std::ptrdiff_t first = 0;
  for (; width > 1 && row.stride == 1 && first + stretch <= row.size; first += stretch) {
    Pack<T> place = pack_of(T(stretch));
    for (int l = stretch - width; l >= 0; l -= width) {
      place = load_pack(row.data + first + l) == pack_of(score) ? from_first_lane + static_cast<T>(l) : place;
    }
    store_pack(lanes, place);
    int found = 0;
    for (int l = 0; l < width; ++l) found += lanes[l] < T(stretch) ? 1 : 0;
    if (found == 0) continue;
    for (int l = 1; l < width; ++l) lanes[0] = lanes[l] < lanes[0] ? lanes[l] : lanes[0];
    return first + static_cast<std::ptrdiff_t>(lanes[0]);
  }
  while (first < row.size && !(row[first] == score)) ++first;
  return first;
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
