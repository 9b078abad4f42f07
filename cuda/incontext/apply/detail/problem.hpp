#pragma once

#include <cstdint>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

namespace incontext::apply::detail {

/// The matrices of one layer of attention, in memory that the system (a CPU or a GPU) can read. It is plain data, which
/// a GPU's threads receive by value.
template <class T>
struct Problem {
  MatrixView<const T> queries;
  MatrixView<const T> keys;
  MatrixView<const T> values;
  MatrixView<T> out;
  VisibleKeys visible;

  /// The number of keys that a query sees. It is 0 beyond the last query, where the lanes of the last batch are empty.
  INCONTEXT_HD std::int64_t seen(std::int64_t query) const { return query < queries.rows ? visible(query) : 0; }
  /// The largest number of keys that a query of a batch sees, the batch being the `lanes` queries from `first` on.
  template <int lanes>
  INCONTEXT_HD std::int64_t most_seen(std::int64_t first) const {
    std::int64_t most = 0;
    for (int l = 0; l < lanes; ++l) most = seen(first + l) > most ? seen(first + l) : most;
    return most;
  }
};

/// Copies the rows of a batch, from row `first` on, into its slot: component c of the row in lane l to
/// to[c * lanes + l]; 0 beyond the last row.
template <class Team, class T>
INCONTEXT_HD void load_queries(const Team& team, MatrixView<const T> queries, std::int64_t first, T* to) {
  team.for_each(Team::lanes, queries.columns, [&](std::int64_t l, std::int64_t c) {
    to[c * Team::lanes + l] = first + l < queries.rows ? queries(first + l, c) : T(0);
  });
}

/// Writes the outputs of the batch of queries from `first` on. The output of lane l is its weighted sum of values,
/// whose component e is sums[e * lanes + l], divided by the lane's normalizer.
template <class Team, class T>
INCONTEXT_HD void write_outputs(const Team& team, const Problem<T>& problem, std::int64_t first, const T* sums,
                                const T* normalizer) {
  const std::int64_t left = problem.queries.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, problem.values.columns, [&](std::int64_t l, std::int64_t e) {
    problem.out(first + l, e) = sums[e * Team::lanes + l] / normalizer[l];
  });
}

/// Sets `count` numbers to a value.
template <class Team, class T>
INCONTEXT_HD void fill(const Team& team, T* numbers, std::int64_t count, const T& value) {
  team.for_each(1, count, [&](std::int64_t, std::int64_t i) { numbers[i] = value; });
}

/// Writes the packs f(0), f(1), ... of each thread's lanes to an array that the team reads, with one number per lane.
template <class Team, class T, class Function>
INCONTEXT_HD void write_packs(const Team& team, T* lanes, const Function& f) {
  for (int p = 0; p < Team::packs; ++p) {
    T numbers[Team::width];
    store_pack(numbers, f(p));
    for (int l = 0; l < Team::width && team.part() == 0; ++l) lanes[team.lane(Team::at(p) + l)] = numbers[l];
  }
  team.wait();
}

/// Computes every `slots`-th batch, one after the other in the same memory. A batch is the queries (or keys) that a
/// team computes side by side, one in each lane; a slot is the working memory for one batch. There are only as many
/// slots as run at the same time, so the memory does not grow with the number of queries.
template <class Batch>
struct RunBatches {
  using T = typename Batch::T;
  Batch batch;
  std::int64_t batches;
  std::int64_t slots;
  T* memory;
  std::int64_t memory_per_slot;  // numbers

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    const typename Batch::Team team;
    for (std::int64_t b = slot; b < batches; b += slots) batch(team, b, memory + slot * memory_per_slot);
  }
};

/// The same by the threads of a GPU's block. The slot is in the block's shared memory where that is large enough; then
/// `memory` is null.
template <class Batch>
struct RunBlock {
  using T = typename Batch::T;
  static constexpr auto task = Batch::task;
  Batch batch;
  std::int64_t batches;
  std::int64_t slots;
  T* memory;
  std::int64_t memory_per_slot;  // numbers

  template <class Block>
  INCONTEXT_HD void operator()(std::int64_t slot, const Block& block) const {
    T* const shared = reinterpret_cast<T*>(block.shared);
    T* const own = memory == nullptr ? shared + Batch::Team::shared_numbers : memory + slot * memory_per_slot;
    const typename Batch::Team team{block, shared};
    for (std::int64_t b = slot; b < batches; b += slots) batch(team, b, own);
  }
};

}  // namespace incontext::apply::detail
