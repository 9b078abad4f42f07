#pragma once

#include <cstddef>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/two_sum.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/row.hpp"

/// Long rows a block at a time: blocks of numbers for packs, and sums whose order does not depend on a pack's width.
namespace incontext::scoring::detail {
inline namespace INCONTEXT_PACKS {

inline constexpr int sum_lanes = 16;  // partial sums of a row, on every machine
inline constexpr int row_block = 4 * sum_lanes;
inline constexpr std::ptrdiff_t shortest_packed_row = 16;  // below, a block is mostly padding

/// row_block numbers of a row from `first` on: in place where they are side by side, else in `copy`, padded.
template <class T>
INCONTEXT_HD const T* block_of(const Row<const T>& row, std::ptrdiff_t first, const T& pad, T* copy) {
  if (row.stride == 1 && first + row_block <= row.size) return row.data + first;
  for (int l = 0; l < row_block; ++l) copy[l] = first + l < row.size ? row[first + l] : pad;
  return copy;
}

/// Calls visit(block, first, whole) for blocks of row_block scores: on the row itself where a whole block is
/// contiguous, else on a copy that is filled up with `pad`.
template <class T, class Visit>
INCONTEXT_HD void for_each_block(Row<const T> row, const T& pad, Visit visit) {
  std::ptrdiff_t first = 0;
  for (; row.stride == 1 && first + row_block <= row.size; first += row_block) visit(row.data + first, first, true);
  alignas(64) T copy[row_block];
  for (; first < row.size; first += row_block) visit(block_of<T>(row, first, pad, copy), first, false);
}

/// Prefetches the block one row length ahead, which in a matrix is the next row; elsewhere this does no harm.
template <class T>
INCONTEXT_HD inline void expect_next_row(const Row<const T>& row, std::ptrdiff_t first) {
#if defined(__GNUC__) && !defined(__CUDACC__)
  constexpr std::ptrdiff_t bytes = sizeof(T), line = 64, nearest_cache = 32768;
  if (row.stride != 1 || row.size * bytes > nearest_cache) return;
  const auto next = reinterpret_cast<std::uintptr_t>(row.data) + static_cast<std::size_t>((row.size + first) * bytes);
  for (std::size_t at = 0; at < row_block * sizeof(T); at += line) {
    __builtin_prefetch(reinterpret_cast<const void*>(next + at));
  }
#else
  (void)row;
  (void)first;
#endif
}

/// A sum in sum_lanes lanes, each compensated, in the same order for every width of a pack.
template <class T>
struct LaneSum {
  static constexpr int packs = sum_lanes / pack_width<T>;
  Pack<T> total[packs] = {};
  Pack<T> lost[packs] = {};

  INCONTEXT_HD void add(int p, const Pack<T>& term) { math::add_compensated<Pack<T>>(total[p], lost[p], term); }
  INCONTEXT_HD T value() const {
    T totals[sum_lanes], losts[sum_lanes];
    for (int p = 0; p < packs; ++p) {
      store_pack(totals + p * pack_width<T>, total[p]);
      store_pack(losts + p * pack_width<T>, lost[p]);
    }
    Sum<T> sum;
    for (int l = 0; l < sum_lanes; ++l) sum.add(totals[l]);
    for (int l = 0; l < sum_lanes; ++l) sum.add(losts[l]);
    return sum.value();
  }
};

/// 2^exponent(z); 0 where `careful` and z is masked or the power below the normal range.
template <bool careful, class T, class Exponent>
INCONTEXT_HD inline Pack<T> power_of(const Exponent& exponent, const Pack<T>& z) {
  Pack<T> octaves = exponent(z);
  if constexpr (careful) {
    const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
    octaves = octaves < lowest ? lowest : octaves;
    octaves = z <= pack_of(T(-math::infinity<T>())) ? lowest : octaves;
  }
  return elementary::exp2_of<T>(octaves);
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::scoring::detail
