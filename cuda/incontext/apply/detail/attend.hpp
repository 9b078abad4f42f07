#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/simulate/engine/memory.hpp"

/// The choice of a batch for a map, and the distribution of batches over the workers of a system.
namespace incontext::apply::detail {

inline namespace INCONTEXT_PACKS {

/// Any other map, on whole rows of scores. On a CPU each lane's row is copied out of the lanes, mapped, and copied
/// back; on a GPU one thread maps it where it is, beside its neighbors' rows.
template <class Map, class BatchTeam>
struct RowBatch {
  using T = typename Map::value_type;
  using Team = BatchTeam;
  static constexpr std::string_view task = "attention";
  static constexpr int lanes = Team::lanes;
  Map map;
  Problem<T> problem;

  std::int64_t scratch() const {
    return lanes * (problem.queries.columns + problem.values.columns + problem.keys.rows + 1) + problem.keys.rows;
  }

  INCONTEXT_HD void operator()(const Team& team, std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const ones = sums + lanes * problem.values.columns;
    T* const scores = ones + lanes;
    load_queries(team, problem.queries, first, queries);
    fill(team, sums, lanes * problem.values.columns, T(0));
    fill(team, ones, lanes, T(1));
    const std::int64_t most = problem.template most_seen<lanes>(first);
    team.score_block(queries, problem.keys, 0, most, scores);
    for (int i = 0; i < Team::own && team.part() == 0; ++i) {
      const int l = team.lane(i);
      map_lane(scores + l, problem.seen(first + l), most, scores + most * lanes);
    }
    team.wait();
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.add_values(scores + j * lanes, problem.values, j, last, ones, sums);
    }
    write_outputs(team, problem, first, sums, ones);
  }

  /// The first `end` scores of a lane become weights, those after them 0.
  INCONTEXT_HD void map_lane(T* scores, std::int64_t end, std::int64_t most, T* copy) const {
    Row<T> row(scores, end, lanes);
    if constexpr (Team::parts == 1) {
      row = Row<T>(copy, end);
      for (std::int64_t j = 0; j < end; ++j) row[j] = scores[j * lanes];
    }
    if (end > 0) weights(map, Row<const T>(row), row);
    if constexpr (Team::parts == 1) {
      for (std::int64_t j = 0; j < end; ++j) scores[j * lanes] = row[j];
    }
    for (std::int64_t j = end; j < most; ++j) scores[j * lanes] = T(0);
  }
};

}  // namespace INCONTEXT_PACKS

inline namespace INCONTEXT_PACKS {

/// Attention by functions of the score over a normalizer, with running sums: each lane adds up the values times f(z)
/// and the normalizer, and divides at the end.
template <class Reader, class BatchTeam>
struct RatioBatch {
  using T = typename Reader::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "attention";
  static constexpr int lanes = Team::lanes, own = Team::own;
  Reader reader;
  Problem<T> problem;

  std::int64_t scratch() const { return lanes * (problem.queries.columns + problem.values.columns + key_block + 1); }

  INCONTEXT_HD void operator()(const Team& team, std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const scores = sums + lanes * problem.values.columns;
    T* const normalizers = scores + lanes * key_block;
    load_queries(team, problem.queries, first, queries);
    fill(team, sums, lanes * problem.values.columns, T(0));
    fill(team, normalizers, lanes, T(1));
    T totals[own] = {}, guards[own] = {};
    std::int64_t ends[own];
    for (int i = 0; i < own; ++i) ends[i] = problem.seen(first + team.lane(i));
    const std::int64_t most = problem.template most_seen<lanes>(first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(queries, problem.keys, j, last, scores);
      add_block(team, scores, last - j, ends, j, totals, guards);
      team.add_values(scores, problem.values, j, last, normalizers, sums);
    }
    for (int i = 0; i < own; ++i) {
      const T guard = team.total_of(guards[i]);
      if (team.part() == 0) normalizers[team.lane(i)] = reader.normalizer(ends[i], totals[i]) + guard;
    }
    team.wait();
    write_outputs(team, problem, first, sums, normalizers);
  }

  /// Turns the scores of a block into values, and adds their contributions to each lane's normalizer.
  INCONTEXT_HD void add_block(const Team& team, T* scores, std::int64_t count, const std::int64_t* ends,
                              std::int64_t first, T* totals, T* guards) const {
    T sum[own], seen[own];
    for (int i = 0; i < own; ++i) {
      sum[i] = T(0);
      seen[i] = static_cast<T>(ends[i] < first + count ? ends[i] - first : count);
    }
    for (std::int64_t k = team.part(); k < count; k += Team::parts) {
      T* const at = scores + k * lanes + team.lane(0);
      const T index = static_cast<T>(k);
      for (int i = 0; i < own; ++i) {
        const T score = index < seen[i] ? at[i] : T(0);
        guards[i] = guards[i] + score * T(0);  // a score that is not finite must not vanish in f
        at[i] = index < seen[i] ? reader.value(score) : T(0);
        if constexpr (Team::parts == 1) sum[i] = sum[i] + reader.counted(at[i]);
      }
    }
    if constexpr (Team::parts > 1) {
      team.wait();
      for (std::int64_t k = 0; k < count; ++k) sum[0] = sum[0] + reader.counted(scores[k * lanes + team.lane(0)]);
    }
    for (int i = 0; i < own; ++i) totals[i] = totals[i] + sum[i];
  }
};

}  // namespace INCONTEXT_PACKS

/// How many packs of queries a CPU's thread works on side by side: two, or eight where nvcc makes packs of one number.
template <class T>
inline constexpr int packs_of = pack_width<T> == 1 ? 8 : 2;

/// The team of a system, which computes a batch: one thread on a CPU, a block on a GPU.
template <class System, class T>
struct TeamOf {
  using type = OneThread<T, packs_of<T>>;
};
template <class System, class T>
  requires(System::lanes == 1)
struct TeamOf<System, T> {
  using type = BlockOfThreads<T, typename System::Block>;
};
template <class System, class T>
using Team = typename TeamOf<System, T>::type;

/// A number of blocks that keeps a GPU of any size busy.
inline constexpr std::int64_t full_gpu = 2048;

template <class System, class Batch>
void run_batches(const Batch& batch, std::int64_t queries, const simulate::detail::Workers& workers) {
  using T = typename Batch::T;
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t batches = (queries + Batch::Team::lanes - 1) / Batch::Team::lanes;
  const std::int64_t per_slot = (batch.scratch() + line - 1) / line * line;
  typename System::template Memory<T> memory;
  const auto make_room = [&](std::int64_t slot_count) {
    simulate::detail::make_room("apply::attend", memory, {slot_count, per_slot + line, "threads", "the keys"});
    const auto first = reinterpret_cast<std::uintptr_t>(address(memory));
    return reinterpret_cast<T*>((first + 63) / 64 * 64);
  };
  if constexpr (System::lanes > 1) {
    const std::int64_t slot_count = (std::min)(batches, std::int64_t{System::workers(workers)});
    System::for_each_index(slot_count, workers,
                           RunBatches<Batch>{batch, batches, slot_count, make_room(slot_count), per_slot});
  } else {
    const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(T); };
    const std::size_t shared = bytes(Batch::Team::shared_numbers), all = shared + bytes(per_slot);
    if (all <= System::shared_bytes()) {
      return System::for_each_by_blocks(batches, all, workers, RunBlock<Batch>{batch, batches, batches, nullptr, 0});
    }
    const std::int64_t most = std::clamp<std::int64_t>(System::working_numbers() / per_slot, 1, full_gpu);
    const std::int64_t slot_count = (std::min)(batches, most);
    System::for_each_by_blocks(slot_count, shared, workers,
                               RunBlock<Batch>{batch, batches, slot_count, make_room(slot_count), per_slot});
  }
}

template <class System, class Map>
void attend_on(const Map& map, const Problem<typename Map::value_type>& problem,
               const simulate::detail::Workers& workers) {
  using T = typename Map::value_type;
  constexpr bool has_packs = std::is_same_v<T, float> || std::is_same_v<T, double>;
  using Reader = std::conditional_t<has_packs, typename ReaderOf<Map>::type, NoReader>;
  using Team = detail::Team<System, T>;
  const std::int64_t queries = problem.queries.rows;
  if constexpr (!std::is_same_v<Reader, NoReader>) {
    const Reader reader{map};
    if constexpr (!Reader::is_softmax) {
      return run_batches<System>(RatioBatch<Reader, Team>{reader, problem}, queries, workers);
    } else {
      if (reader.fits()) return run_batches<System>(SoftmaxBatch<Reader, Team>{reader, problem}, queries, workers);
    }
  }
  run_batches<System>(RowBatch<Map, Team>{map, problem}, queries, workers);
}

}  // namespace incontext::apply::detail
