#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/ratio_batch.hpp"
#include "incontext/apply/detail/row_batch.hpp"
#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/simulate/engine/memory.hpp"

/// The choice of a batch for a map, and the distribution of batches over the workers of a system.
namespace incontext::apply::detail {

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
  const auto make_room = [&](std::int64_t slots) {
    simulate::detail::make_room("apply::attend", memory, {slots, per_slot + line, "threads", "the keys"});
    const auto first = reinterpret_cast<std::uintptr_t>(address(memory));
    return reinterpret_cast<T*>((first + 63) / 64 * 64);
  };
  if constexpr (System::lanes > 1) {
    const std::int64_t slots = std::min(batches, std::int64_t{System::workers(workers)});
    System::for_each_index(slots, workers, RunBatches<Batch>{batch, batches, slots, make_room(slots), per_slot});
  } else {
    const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(T); };
    const std::size_t shared = bytes(Batch::Team::shared_numbers), all = shared + bytes(per_slot);
    if (all <= System::shared_bytes()) {
      return System::for_each_by_blocks(batches, all, workers, RunBlock<Batch>{batch, batches, batches, nullptr, 0});
    }
    const std::int64_t most = std::clamp<std::int64_t>(System::working_numbers() / per_slot, 1, full_gpu);
    const std::int64_t slots = std::min(batches, most);
    System::for_each_by_blocks(slots, shared, workers,
                               RunBlock<Batch>{batch, batches, slots, make_room(slots), per_slot});
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
