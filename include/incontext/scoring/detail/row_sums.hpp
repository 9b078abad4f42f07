#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/row.hpp"

/// Sums over the visible scores of a row and the numbers beside them, over packs, in an order that does not depend on
/// the width of a pack.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

template <class T>
concept Packed = std::same_as<T, float> || std::same_as<T, double>;

/// What one pack of scores adds to each of `count` sums.
template <int count, class T>
struct Terms {
  Pack<T> of[count];
};

/// Adds the terms of one block. `careful`: a masked score adds nothing.
template <bool careful, int count, class T, class Term>
INCONTEXT_HD inline void add_block(LaneSum<T> (&sums)[count], const T* z, const T* u, const Term& term) {
  constexpr int width = pack_width<T>;
  for (int lane = 0; lane < LaneSum<T>::packs; ++lane) {
    Terms<count, T> terms[4];
    for (int g = 0; g < 4; ++g) {
      const int at = g * sum_lanes + lane * width;
      const Pack<T> score = load_pack(z + at);
      terms[g] = term(score, load_pack(u + at));
      for (int s = 0; careful && s < count; ++s) {
        terms[g].of[s] = score <= pack_of(T(-math::infinity<T>())) ? pack_of(T(0)) : terms[g].of[s];
      }
    }
    for (int s = 0; s < count; ++s) {
      sums[s].add(lane, (terms[0].of[s] + terms[1].of[s]) + (terms[2].of[s] + terms[3].of[s]));
    }
  }
}

/// No place of a row.
inline constexpr std::ptrdiff_t nowhere = -1;

/// Adds term(z_i, u_i), which is Terms<count, T>, over the scores of a row that are visible and not at `left_out`.
/// `masked`: some scores may be masked.
template <int count, class T, class Term>
INCONTEXT_HD void add_row(LaneSum<T> (&sums)[count], Row<const T> z, Row<const T> u, bool masked,
                          std::ptrdiff_t left_out, const Term& term) {
  const T mask = T(-math::infinity<T>());
  const bool in_place = !masked && z.stride == 1 && u.stride == 1;
  alignas(64) T z_copy[row_block], u_copy[row_block];
  for (std::ptrdiff_t first = 0; first < z.size; first += row_block) {
    const bool is_left_out = first <= left_out && left_out < first + row_block;
    if (in_place && !is_left_out && first + row_block <= z.size) {
      expect_next_row(z, first);
      expect_next_row(u, first);
      add_block<false>(sums, z.data + first, u.data + first, term);
      continue;
    }
    const T* scores = block_of<T>(z, first, mask, z_copy);
    if (is_left_out) {
      for (int l = 0; l < row_block; ++l) z_copy[l] = first + l == left_out ? mask : scores[l];
      scores = z_copy;
    }
    add_block<true>(sums, scores, block_of<T>(u, first, T(0), u_copy), term);
  }
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
