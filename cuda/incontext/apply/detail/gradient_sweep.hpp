#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/products.hpp"
#include "incontext/apply/detail/query_gradient_batch.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/simulate/engine/memory.hpp"

/// The backward pass on a CPU, in one sweep over the tiles of 64 queries and 64 keys. It takes five products of matrices.
/// QueryGradientBatch and KeyGradientBatch take nine, because they compute the scores three times and the products of
/// cotangents with values three times. All sums have the order of theirs, so that finite numbers give the same bits.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// out_k += sum_i factor(i, k) row_i for `count` keys k, and for the `packs` packs of components from `rows` on. Rows
/// and outputs have `stride` numbers.
template <int packs, int count, class T, class Factor>
INCONTEXT_HD inline void add_rows(const T* rows, std::int64_t queries, std::int64_t stride, const Factor& factor,
                                  T* out) {
  sum_products<count, packs, T>(
      queries, [&](std::int64_t i, int p) { return load_pack(rows + i * stride + p * pack_width<T>); }, factor,
      [&](int k, int p, const Pack<T>& sum) {
        T* const at = out + k * stride + p * pack_width<T>;
        store_pack(at, load_pack<T>(at) + sum);
      });
}

/// The order in which tiles of queries add to the sums of the keys: a tile adds to a block of keys after every earlier
/// tile has added to it, or has ended. Tiles are begun in order, so that a tile waits for tiles alone that running threads
/// have begun: there is no deadlock with any number of threads.
class Turns {
 public:
  explicit Turns(std::int64_t tiles) : blocks_(static_cast<std::size_t>(tiles)) {}

  /// The next tile that nobody has begun.
  std::int64_t next() { return next_.fetch_add(1); }

  /// Returns when every tile before `tile` has added to the first `blocks` blocks of keys.
  void await(std::int64_t tile, std::int64_t blocks) const {
    constexpr int spins = 1000;
    if (tile == 0) return;
    const auto& before = blocks_[static_cast<std::size_t>(tile - 1)];
    for (int spin = 0; before.load(std::memory_order_acquire) < blocks;) {
      if (spin < spins) {
        ++spin;
      } else {
        std::this_thread::yield();
      }
    }
  }

  /// Says that a tile, and every one before it, has added to the first `blocks` blocks of keys.
  void pass(std::int64_t tile, std::int64_t blocks) {
    blocks_[static_cast<std::size_t>(tile)].store(blocks, std::memory_order_release);
  }

  /// Says that a tile adds to no other block.
  void end(std::int64_t tile) {
    constexpr std::int64_t all = (std::numeric_limits<std::int64_t>::max)();
    await(tile, all);
    pass(tile, all);
  }

 private:
  std::vector<std::atomic<std::int64_t>> blocks_;
  std::atomic<std::int64_t> next_ = 0;
};

/// The sweep. A tile's queries first meet all their keys, which gives the normalizers of the weights and the means of
/// the gradients by the weights; scores and products g . v_j are kept. Then, block of keys by block, these become the
/// gradients by the scores and the weights, and are added to the gradients of the queries, the keys and the values. The
/// tiles of several threads follow one another over the blocks of keys, so that each key's sum has one order.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map; formulas: QueryGradientBatch and KeyGradientBatch.
template <class Reader, class BatchTeam>
class GradientSweep {
 public:
  using T = typename Reader::T;

  /// Whether the threads find enough tiles to follow one another, and their scores fit into 128 MiB (of floats). Fewer
  /// tiles of queries would leave threads without work, which the batches of keys give them.
  static bool suits(std::int64_t queries, std::int64_t keys, std::int64_t threads) {
    constexpr std::int64_t most_numbers = std::int64_t{1} << 25;
    const bool has_turns = threads == 1 || 2 * threads <= (std::min)(tiles_of(queries), tiles_of(keys));
    return has_turns && keys <= most_numbers / (2 * tile * threads);
  }

  static void run(const Reader& reader, const GradientProblem<T>& all, const simulate::detail::Workers& workers) {
    GradientSweep(reader, all).add_tiles(workers);
  }

 private:
  using Batch = QueryGradientBatch<Reader, BatchTeam>;
  using State = typename Batch::State;
  static constexpr BatchTeam team = {};
  static constexpr int lanes = BatchTeam::lanes, width = pack_width<T>;
  // KeyGradientBatch sums the queries in blocks of key_block, too: other tiles would give other bits.
  static constexpr std::int64_t tile = key_block, most_groups = tile / lanes;  // groups of as many queries as lanes
  static constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  static_assert(tile % lanes == 0);

  GradientSweep(const Reader& reader, const GradientProblem<T>& all)
      : queries_{reader, all},
        all_(all),
        tiles_(tiles_of(all.problem.queries.rows)),
        key_stride_(padded(all.problem.keys.columns)),
        value_stride_(padded(all.problem.values.columns)),
        turns_(tiles_) {}

  void add_tiles(const simulate::detail::Workers& workers) {
    using simulate::detail::HostSystem;
    constexpr auto where = "apply::attention_gradient";
    const Problem<T>& problem = all_.problem;
    const std::int64_t slot_count = (std::min)(tiles_, std::int64_t{HostSystem::workers(workers)});
    simulate::detail::make_room(where, sums_, {problem.keys.rows, key_stride_ + value_stride_, "keys", "dimensions"});
    simulate::detail::make_room(where, scratch_, {slot_count, scratch() + line, "threads", "the keys"});
    std::fill(sums_.begin(), sums_.end(), T(0));
    HostSystem::for_each_index(slot_count, workers, [&](std::int64_t slot) {
      T* const memory = aligned(scratch_.data()) + slot * (scratch() + line);
      for (std::int64_t t = turns_.next(); t < tiles_; t = turns_.next()) add_tile(t, memory);
    });
    copy_matrix<T>({to_keys(0), problem.keys.rows, problem.keys.columns, {key_stride_, 1}}, all_.to_keys);
    copy_matrix<T>({to_values(0), problem.keys.rows, problem.values.columns, {value_stride_, 1}}, all_.to_values);
  }

  static std::int64_t tiles_of(std::int64_t rows) { return (rows + tile - 1) / tile; }
  static std::int64_t padded(std::int64_t columns) { return (columns + width - 1) / width * width; }
  static T* aligned(T* numbers) {
    const auto misplaced = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(numbers) / sizeof(T)) % line;
    return numbers + (line - misplaced) % line;
  }

  [[nodiscard]] T* to_keys(std::int64_t key) { return sums_.data() + key * key_stride_; }
  [[nodiscard]] T* to_values(std::int64_t key) { return to_keys(all_.problem.keys.rows) + key * value_stride_; }

  /// What a tile needs of a slot's memory. Groups follow one another.
  struct Memory {
    T* query_rows;      // a row per query
    T* cotangent_rows;  // a row per query
    T* queries;         // for the arrays from here on: a number per lane
    T* cotangent;
    T* sums;
    T* scores;     // of all keys; then the gradients by them
    T* by_weight;  // of all keys: g . v_j; then the weights
    T* powers;     // of one block of keys
    T* ones;
  };

  [[nodiscard]] std::int64_t scratch() const {
    const Problem<T>& problem = all_.problem;
    const std::int64_t numbers =
        key_stride_ + value_stride_ + 2 * problem.queries.columns + problem.values.columns + 2 * problem.keys.rows;
    return tile * numbers + lanes * (key_block + 1);
  }

  [[nodiscard]] Memory memory_in(T* first) const {
    const Problem<T>& problem = all_.problem;
    const auto take = [&](std::int64_t numbers) { return std::exchange(first, first + numbers); };
    Memory in;
    in.query_rows = take(tile * key_stride_);
    in.cotangent_rows = take(tile * value_stride_);
    in.queries = take(tile * problem.queries.columns);
    in.cotangent = take(tile * problem.values.columns);
    in.sums = take(tile * problem.queries.columns);
    in.scores = take(tile * problem.keys.rows);
    in.by_weight = take(tile * problem.keys.rows);
    in.powers = take(lanes * key_block);
    in.ones = take(lanes);
    return in;
  }

  void add_tile(std::int64_t number, T* memory) {
    const Problem<T>& problem = all_.problem;
    const Memory in = memory_in(memory);
    const std::int64_t first = number * tile, count = (std::min)(tile, problem.queries.rows - first);
    const std::int64_t groups = (count + lanes - 1) / lanes, most = problem.template most_seen<tile>(first);
    load_rows(problem.queries, first, count, key_stride_, in.query_rows);
    load_rows(all_.cotangent, first, count, value_stride_, in.cotangent_rows);
    fill(team, in.ones, lanes, T(1));
    State states[most_groups];
    for (std::int64_t g = 0; g < groups; ++g) begin(states[g], first + g * lanes, group(in, g), in.powers, most);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = (std::min)(j + key_block, most);
      for (std::int64_t g = 0; g < groups; ++g) {
        add_to_queries(states[g], first + g * lanes, group(in, g), j, last);
      }
      turns_.await(number, j / key_block + 1);
      add_to_rows(in.by_weight, in.cotangent_rows, count, value_stride_, j, last, to_values(j));
      add_to_rows(in.scores, in.query_rows, count, key_stride_, j, last, to_keys(j));
      turns_.pass(number, j / key_block + 1);
    }
    turns_.end(number);
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t query = first + g * lanes;
      write_lanes(team, all_.to_queries, query, group(in, g).sums);
      queries_.keep(team, all_.kept.by_shape, query, states[g].by_shape);
      queries_.keep(team, all_.kept.by_other, query, states[g].by_other);
    }
  }

  /// The arrays of one group, with the scores of all keys.
  [[nodiscard]] typename Batch::Arrays group(const Memory& in, std::int64_t g) const {
    const Problem<T>& problem = all_.problem;
    const std::int64_t at = g * lanes;
    return {.queries = in.queries + at * problem.queries.columns,
            .sums = in.sums + at * problem.queries.columns,
            .cotangent = in.cotangent + at * problem.values.columns,
            .scores = in.scores + at * problem.keys.rows,
            .by_weight = in.by_weight + at * problem.keys.rows,
            .others = nullptr,
            .ones = in.ones};
  }

  static void load_rows(MatrixView<const T> from, std::int64_t first, std::int64_t count, std::int64_t stride, T* to) {
    std::fill_n(to, count * stride, T(0));
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t c = 0; c < from.columns; ++c) to[i * stride + c] = from(first + i, c);
    }
  }

  /// A group's scores and products g . v_j with its keys, the normalizers of its weights and the means of the gradients
  /// by them.
  void begin(State& state, std::int64_t query, const typename Batch::Arrays& in, T* powers, std::int64_t most) const {
    const Problem<T>& problem = all_.problem;
    const auto softmax = queries_.softmax();
    load_queries(team, problem.queries, query, in.queries);
    load_queries(team, all_.cotangent, query, in.cotangent);
    fill(team, in.sums, lanes * problem.queries.columns, T(0));
    queries_.begin(team, state, query);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = (std::min)(j + key_block, most), numbers = (last - j) * lanes;
      T* const scores = in.scores + j * lanes;
      T* const by_weight = in.by_weight + j * lanes;
      team.score_block(in.queries, problem.keys, j, last, scores);
      std::copy_n(scores, numbers, powers);
      const bool whole = softmax.look(team, state.softmax, query, j, last);
      softmax.raise_to_powers(team, state.softmax, powers, last - j, whole);
      team.score_block(in.cotangent, problem.values, j, last, by_weight);
      queries_.add_means(team, state, powers, by_weight, last - j);
    }
    queries_.end_means(state);
  }

  /// Replaces a block's scores and products by the gradients by the scores and the weights, and adds to the gradients of
  /// a group.
  void add_to_queries(State& state, std::int64_t query, typename Batch::Arrays in, std::int64_t j,
                      std::int64_t last) const {
    in.scores += j * lanes;
    in.by_weight += j * lanes;
    const bool whole = queries_.softmax().look(team, state.softmax, query, j, last);
    if (j == 0) queries_.look_at_first_key(team, state, in);
    queries_.to_score_gradients(team, state, in, last - j, whole);
    team.add_values(in.scores, all_.problem.keys, j, last, in.ones, in.sums);
  }

  /// out_j += sum_i factor_ij row_i for the keys j of a block and the queries i of a tile. Only the host calls it. It is
  /// marked for the device, too, because sum_products, which is for both, calls its lambdas: nvcc would refuse those of
  /// a function for the host alone.
  INCONTEXT_HD void add_to_rows(const T* factors, const T* rows, std::int64_t count, std::int64_t stride,
                                std::int64_t first, std::int64_t last, T* out) const {
    const std::int64_t between_groups = lanes * all_.problem.keys.rows;
    const auto add = [&]<int packs, int keys>(std::int64_t component, std::int64_t key) {
      const T* const own = factors + key * lanes;
      add_rows<packs, keys>(
          rows + component, count, stride,
          [&](std::int64_t i, int k) { return own[i / lanes * between_groups + k * lanes + i % lanes]; },
          out + (key - first) * stride + component);
    };
    const auto add_packs = [&]<int packs>(std::int64_t component) {
      std::int64_t key = first;
      for (; key + held <= last; key += held) add.template operator()<packs, held>(component, key);
      for (; key < last; ++key) add.template operator()<packs, 1>(component, key);
    };
    std::int64_t c = 0;
    for (; c + 2 * width <= stride; c += 2 * width) add_packs.template operator()<2>(c);
    for (; c < stride; c += width) add_packs.template operator()<1>(c);
  }

  Batch queries_;
  GradientProblem<T> all_;
  std::int64_t tiles_, key_stride_, value_stride_;
  Turns turns_;
  std::vector<T> sums_;     // the gradients of all keys, then of all values
  std::vector<T> scratch_;  // of the slots
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
