#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/ratio_batch.hpp"
#include "incontext/apply/detail/row_batch.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/streams.hpp"
#include "incontext/simulate/engine/memory.hpp"

/// The choice of a batch for a map, and the distribution of batches over the workers of a system.
namespace incontext::apply::detail {

/// How many packs of queries are side by side: two on a CPU, eight where nvcc makes packs of one, one per GPU thread.
template <class System, class T>
inline constexpr int packs_of = System::lanes == 1 ? 1 : (pack_width<T> == 1 ? 8 : 2);

template <class System, class Batch>
void run_batches(const Batch& batch, std::int64_t queries, const simulate::detail::Workers& workers) {
  using T = typename Batch::T;
  constexpr std::int64_t line = 64 / static_cast<std::int64_t>(sizeof(T));
  const std::int64_t batches = (queries + Batch::lanes - 1) / Batch::lanes;
  const std::int64_t per_slot = (batch.scratch() + line - 1) / line * line;
  const std::int64_t most =
      System::lanes == 1 ? std::max(std::int64_t{1}, (std::int64_t{1} << 28) / per_slot) : batches;
  const std::int64_t slots = std::min({batches, most, std::int64_t{System::workers(workers)}});
  typename System::template Memory<T> memory;
  simulate::detail::make_room("apply::attend", memory, {slots, per_slot + line, "threads", "the keys"});
  auto first = reinterpret_cast<std::uintptr_t>(address(memory));
  first = (first + 63) / 64 * 64;
  System::for_each_index(slots, workers, RunSlot<Batch>{batch, batches, slots, reinterpret_cast<T*>(first), per_slot});
}

template <class System, class Map>
void attend_on(const Map& map, const Problem<typename Map::value_type>& problem,
               const simulate::detail::Workers& workers) {
  using T = typename Map::value_type;
  constexpr bool has_packs = std::is_same_v<T, float> || std::is_same_v<T, double>;
  using Stream = std::conditional_t<has_packs, typename StreamOf<Map>::type, NoStream>;
  constexpr int packs = packs_of<System, T>;
  const std::int64_t queries = problem.queries.rows;
  if constexpr (!std::is_same_v<Stream, NoStream>) {
    const Stream stream{map};
    if constexpr (!Stream::is_softmax) {
      return run_batches<System>(RatioBatch<Stream, packs>{stream, problem}, queries, workers);
    } else {
      if (stream.fits()) return run_batches<System>(SoftmaxBatch<Stream, packs>{stream, problem}, queries, workers);
    }
  }
  run_batches<System>(RowBatch<Map, packs>{map, problem}, queries, workers);
}

}  // namespace incontext::apply::detail
