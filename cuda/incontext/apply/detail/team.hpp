#pragma once

#include <cstdint>

#include "incontext/apply/detail/products.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/row.hpp"

/// A team is the threads that compute one batch of queries: on a CPU one thread with several packs of queries side by
/// side, on a GPU the threads of a block, four for each of 32 queries. The code of a batch is the same for both, and
/// calls the members below. An array over keys and lanes has number (j, lane) at j * lanes + lane. A loop over keys
/// takes every `parts`-th key, beginning with part().
///
///   packs, at(p)        the packs that a thread computes, and the place of each among the lanes; on a GPU one number
///   own, lane(i)        the same lane by lane
///   part(), parts       which keys a thread takes
///   wait()              what one thread has written may now be read by others
///   total_of(x)         the sum of the parts' numbers, largest_of(x) the largest
///   for_each(m, n, f)   calls f(i, j) for all i < m, j < n, by any thread and without a wait
///   score_block         the scores of a block of keys, the products q . k_j
///   add_values          the weighted sum of a block of values
///
/// All but for_each exchange numbers in memory of the team's own. score_block and add_values wait before they leave, so
/// that the next finds it free; after total_of and largest_of the caller waits. What was written before score_block or
/// add_values is known to all threads when these add up.
namespace incontext::apply::detail {

using scoring::MatrixView;

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
  sum_products<count, packs, T>(
      keys.columns, [&](std::int64_t c, int p) { return load_pack(queries + c * lanes + p * pack_width<T>); },
      [&](std::int64_t c, int k) { return key[k * keys.row_stride + c * keys.column_stride]; },
      [&](int k, int p, const Pack<T>& score) { store_pack(to + k * lanes + p * pack_width<T>, score); });
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
  const T* const value = values.data + first * values.row_stride + component * values.column_stride;
  sum_products<count, packs, T>(
      last - first, [&](std::int64_t j, int p) { return load_pack(weights + j * lanes + p * pack_width<T>); },
      [&](std::int64_t j, int e) { return value[j * values.row_stride + e * values.column_stride]; },
      [&](int e, int p, const Pack<T>& sum) {
        T* const at = out + (component + e) * lanes + p * pack_width<T>;
        store_pack(at, load_pack<T>(at) * scale[p] + sum);
      });
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

inline namespace INCONTEXT_PACKS {

/// One thread.
template <class Number, int packs_>
struct OneThread {
  using T = Number;
  static constexpr int packs = packs_, width = pack_width<T>, lanes = packs * width, own = lanes, parts = 1;
  /// How many numbers of a block's shared memory the team itself needs.
  static constexpr std::int64_t shared_numbers = 0;

  INCONTEXT_HD static int at(int p) { return p * width; }
  INCONTEXT_HD static int lane(int i) { return i; }
  INCONTEXT_HD static int part() { return 0; }
  INCONTEXT_HD static void wait() {}
  template <class Value>
  INCONTEXT_HD static Value total_of(const Value& value) {
    return value;
  }
  template <class Value>
  INCONTEXT_HD static Value largest_of(const Value& value) {
    return value;
  }
  /// The pack of f(lane) for its lanes.
  template <class Function>
  INCONTEXT_HD static Pack<T> pack(int p, const Function& f) {
    T numbers[width];
    for (int l = 0; l < width; ++l) numbers[l] = f(at(p) + l);
    return load_pack(numbers);
  }
  template <class Function>
  INCONTEXT_HD static void for_each(std::int64_t rows, std::int64_t columns, const Function& f) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) f(i, j);
    }
  }
  /// to[j - first][lane] = q . k_j for keys first, ..., last - 1.
  INCONTEXT_HD static void score_block(const T* queries, MatrixView<const T> keys, std::int64_t first,
                                       std::int64_t last, T* to) {
    detail::score_block<packs>(queries, keys, first, last, to);
  }
  /// out[e][lane] = out[e][lane] scale[lane] + sum_j weights[j - first][lane] v_j[e].
  INCONTEXT_HD static void add_values(const T* weights, MatrixView<const T> values, std::int64_t first,
                                      std::int64_t last, const T* scale, T* out) {
    Pack<T> scales[packs];
    for (int p = 0; p < packs; ++p) scales[p] = load_pack(scale + at(p));
    detail::add_values<packs>(weights, values, first, last, scales, out);
  }
};

/// The threads of a GPU's block. The factors of a product of two matrices are copied into the block's shared memory,
/// tile by tile. Each thread computes the products of four lanes and four keys or components, and adds up in the order
/// of OneThread.
template <class Number, class Block>
struct BlockOfThreads {
  using T = Number;
  static_assert(pack_width<T> == 1, "a GPU's packs have one number");
  static constexpr int packs = 1, width = 1, lanes = 32, own = 1, parts = Block::threads / lanes;
  static constexpr int side = 4;                                  // numbers of a thread by either side of a product
  static constexpr int groups = Block::threads / (lanes / side);  // of keys or components
  static constexpr int tile = groups * side;                      // keys or components at a time
  static constexpr int depth = 32;                                // terms of the sums at a time
  static_assert(tile == key_block && depth <= tile);
  static constexpr std::int64_t shared_numbers = tile * (depth + 1);

  Block block;
  T* shared;

  INCONTEXT_HD static int at(int) { return 0; }
  INCONTEXT_HD int lane(int) const { return block.thread() % lanes; }
  INCONTEXT_HD int part() const { return block.thread() / lanes; }
  INCONTEXT_HD void wait() const { block.sync(); }
  template <class Function>
  INCONTEXT_HD T pack(int, const Function& f) const {
    return f(lane(0));
  }
  template <class Function>
  INCONTEXT_HD void for_each(std::int64_t rows, std::int64_t columns, const Function& f) const {
    for (std::int64_t k = block.thread(); k < rows * columns; k += Block::threads) f(k / columns, k % columns);
  }
  INCONTEXT_HD T total_of(const T& value) const {
    T total = T(0);
    exchange(value, [&](const T& other) { total = total + other; });
    return total;
  }
  INCONTEXT_HD T largest_of(const T& value) const {
    T largest = value;
    exchange(value, [&](const T& other) { largest = largest < other ? other : largest; });
    return largest;
  }

  INCONTEXT_HD void score_block(const T* queries, MatrixView<const T> keys, std::int64_t first, std::int64_t last,
                                T* to) const {
    for (std::int64_t j = first; j < last; j += tile, to += tile * lanes) {
      const std::int64_t count = last - j < tile ? last - j : tile;
      T sum[side][side] = {};
      for (std::int64_t c = 0; c < keys.columns; c += depth) {
        const int terms = static_cast<int>(keys.columns - c < depth ? keys.columns - c : depth);
        if (c > 0 || j > first) wait();  // others may still read the tile before
        load(tile, depth, count, terms, [&](std::int64_t k, std::int64_t i) { return keys(j + k, c + i); });
        wait();
        for (int i = 0; i < terms; ++i) {
          add_products(sum, queries + (c + i) * lanes, [&](int k) { return shared[k * (depth + 1) + i]; });
        }
      }
      for_each_sum(count, [&](int k, int place, int l, int lane) { to[place * lanes + lane] = sum[k][l]; });
    }
    wait();
  }

  INCONTEXT_HD void add_values(const T* weights, MatrixView<const T> values, std::int64_t first, std::int64_t last,
                               const T* scale, T* out) const {
    for (std::int64_t e = 0; e < values.columns; e += tile) {
      const std::int64_t count = values.columns - e < tile ? values.columns - e : tile;
      T sum[side][side] = {};
      for (std::int64_t j = first; j < last; j += depth) {
        const int terms = static_cast<int>(last - j < depth ? last - j : depth);
        if (e > 0 || j > first) wait();  // others may still read the tile before
        load(depth, tile, terms, count, [&](std::int64_t i, std::int64_t k) { return values(j + i, e + k); });
        wait();
        for (int i = 0; i < terms; ++i) {
          add_products(sum, weights + (j - first + i) * lanes, [&](int k) { return shared[i * (tile + 1) + k]; });
        }
      }
      for_each_sum(count, [&](int k, int place, int l, int lane) {
        T& number = out[(e + place) * lanes + lane];
        number = number * scale[lane] + sum[k][l];
      });
    }
    wait();
  }

 private:
  INCONTEXT_HD int first_lane() const { return block.thread() % (lanes / side) * side; }
  INCONTEXT_HD int group() const { return block.thread() / (lanes / side); }

  /// Copies a tile into shared memory: shared[i][k] = from(i, k), 0 beyond `rows` and `columns`. A row has one number
  /// more than is used, so that the numbers of a column are in different banks.
  template <class From>
  INCONTEXT_HD void load(int most_rows, int most_columns, std::int64_t rows, std::int64_t columns,
                         const From& from) const {
    for (int n = block.thread(); n < most_rows * most_columns; n += Block::threads) {
      const int i = n / most_columns, k = n % most_columns;
      shared[i * (most_columns + 1) + k] = i < rows && k < columns ? from(i, k) : T(0);
    }
  }

  /// sum[k][l] += at_place(place of k) * by_lane[lane of l].
  template <class AtPlace>
  INCONTEXT_HD void add_products(T (&sum)[side][side], const T* by_lane, const AtPlace& at_place) const {
    T x[side];
    for (int l = 0; l < side; ++l) x[l] = by_lane[first_lane() + l];
    for (int k = 0; k < side; ++k) {
      const T y = at_place(group() + k * groups);
      for (int l = 0; l < side; ++l) sum[k][l] = fused(x[l], y, sum[k][l]);
    }
  }

  template <class Visit>
  INCONTEXT_HD void for_each_sum(std::int64_t places, const Visit& visit) const {
    for (int k = 0; k < side; ++k) {
      const int place = group() + k * groups;
      for (int l = 0; l < side; ++l) {
        if (place < places) visit(k, place, l, first_lane() + l);
      }
    }
  }

  template <class Visit>
  INCONTEXT_HD void exchange(const T& value, const Visit& visit) const {
    shared[block.thread()] = value;
    wait();
    for (int p = 0; p < parts; ++p) visit(shared[p * lanes + lane(0)]);
  }
};

/// The sum of an own lane's numbers of `count` keys, one after the other.
template <class Team, class T>
INCONTEXT_HD T sum_of_keys(const T* own, std::int64_t count) {
  T sum = T(0);
  for (std::int64_t j = 0; j < count; ++j) sum = sum + own[j * Team::lanes];
  return sum;
}

}  // namespace INCONTEXT_PACKS

}  // namespace incontext::apply::detail
