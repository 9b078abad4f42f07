#pragma once

#include <cstdint>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

/// The two products of attention, scores and outputs, for a batch of queries side by side. Every lane is one query, and
/// the sums of a lane have a fixed order, so a query's numbers do not depend on how many queries share a batch.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

inline constexpr std::int64_t key_block = 64;  // the order of all sums over keys depends on it

/// The number of sums held in registers at a time; it does not change the results.
inline constexpr int held = incontext::detail::pack_bytes == 64 ? 8 : 4;

template <class T, int packs>
inline constexpr int lanes_of = packs * pack_width<T>;

/// to[k][lane] = q . k for `count` keys from `first`.
template <int packs, int count, class T>
INCONTEXT_HD inline void score_keys(const T* queries, MatrixView<const T> keys, std::int64_t first, T* to) {
  constexpr int lanes = lanes_of<T, packs>;
  const T* const key = keys.data + first * keys.row_stride;
  Pack<T> sum[count][packs] = {};
  for (std::int64_t c = 0; c < keys.columns; ++c) {
    Pack<T> q[packs];
    for (int p = 0; p < packs; ++p) q[p] = load_pack(queries + c * lanes + p * pack_width<T>);
    for (int k = 0; k < count; ++k) {
      const T x = key[k * keys.row_stride + c * keys.column_stride];
      for (int p = 0; p < packs; ++p) sum[k][p] = sum[k][p] + q[p] * x;
    }
  }
  for (int k = 0; k < count; ++k) {
    for (int p = 0; p < packs; ++p) store_pack(to + k * lanes + p * pack_width<T>, sum[k][p]);
  }
}

/// Scores of keys first, ..., last - 1.
template <int packs, class T>
INCONTEXT_HD void score_block(const T* queries, MatrixView<const T> keys, std::int64_t first, std::int64_t last,
                              T* to) {
  constexpr int lanes = lanes_of<T, packs>;
  std::int64_t j = first;
  for (; j + held <= last; j += held) score_keys<packs, held>(queries, keys, j, to + (j - first) * lanes);
  for (; j < last; ++j) score_keys<packs, 1>(queries, keys, j, to + (j - first) * lanes);
}

/// out[e][lane] = out[e][lane] scale[lane] + sum_j weights[j][lane] v_j[e], for `count` components from `component`.
template <int packs, int count, class T>
INCONTEXT_HD inline void add_components(const T* weights, MatrixView<const T> values, std::int64_t first,
                                        std::int64_t last, std::int64_t component, const Pack<T>* scale, T* out) {
  constexpr int lanes = lanes_of<T, packs>;
  Pack<T> sum[count][packs] = {};
  for (std::int64_t j = first; j < last; ++j) {
    const T* const value = values.data + j * values.row_stride + component * values.column_stride;
    Pack<T> w[packs];
    for (int p = 0; p < packs; ++p) w[p] = load_pack(weights + (j - first) * lanes + p * pack_width<T>);
    for (int e = 0; e < count; ++e) {
      const T x = value[e * values.column_stride];
      for (int p = 0; p < packs; ++p) sum[e][p] = sum[e][p] + w[p] * x;
    }
  }
  for (int e = 0; e < count; ++e) {
    for (int p = 0; p < packs; ++p) {
      T* const at = out + (component + e) * lanes + p * pack_width<T>;
      store_pack(at, load_pack<T>(at) * scale[p] + sum[e][p]);
    }
  }
}

template <int packs, class T>
INCONTEXT_HD void add_values(const T* weights, MatrixView<const T> values, std::int64_t first, std::int64_t last,
                             const Pack<T>* scale, T* out) {
  std::int64_t e = 0;
  for (; e + held <= values.columns; e += held) {
    add_components<packs, held>(weights, values, first, last, e, scale, out);
  }
  for (; e < values.columns; ++e) add_components<packs, 1>(weights, values, first, last, e, scale, out);
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
