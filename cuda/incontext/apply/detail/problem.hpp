#pragma once

#include <cstdint>

#include "incontext/apply/detail/team.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/scoring/row.hpp"

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
/// to[c * lanes + l]; 0 beyond the last row. It does not wait.
template <class Team, class T>
INCONTEXT_HD void load_queries(const Team& team, MatrixView<const T> queries, std::int64_t first, T* to) {
  team.for_each(Team::lanes, queries.columns, [&](std::int64_t l, std::int64_t c) {
    to[c * Team::lanes + l] = first + l < queries.rows ? queries(first + l, c) : T(0);
  });
}

/// Writes the outputs of the batch of queries from `first` on. The output of lane l is its weighted sum of values,
/// whose component e is sums[e * lanes + l], divided by the lane's normalizer. It waits, because the next batch writes
/// to the same slot.
template <class Team, class T>
INCONTEXT_HD void write_outputs(const Team& team, const Problem<T>& problem, std::int64_t first, const T* sums,
                                const T* normalizer) {
  const std::int64_t left = problem.queries.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, problem.values.columns, [&](std::int64_t l, std::int64_t e) {
    problem.out(first + l, e) = sums[e * Team::lanes + l] / normalizer[l];
  });
  team.wait();
}

/// Sets `count` numbers to a value, without a wait.
template <class Team, class T>
INCONTEXT_HD void fill(const Team& team, T* numbers, std::int64_t count, const T& value) {
  team.for_each(1, count, [&](std::int64_t, std::int64_t i) { numbers[i] = value; });
}

/// Writes the packs f(0), f(1), ... of each thread's lanes to an array with one number per lane, which the team may
/// read after the next wait.
template <class Team, class T, class Function>
INCONTEXT_HD void write_packs(const Team& team, T* lanes, const Function& f) {
  for (int p = 0; p < Team::packs; ++p) {
    T numbers[Team::width];
    store_pack(numbers, f(p));
    for (int l = 0; l < Team::width && team.part() == 0; ++l) lanes[team.lane(Team::at(p) + l)] = numbers[l];
  }
}

/// Computes every `slot_count`-th batch, one after the other in the same memory. A batch is the queries (or keys) that a
/// team computes side by side, one in each lane; a slot is the working memory for one batch. There are only as many
/// slots as run at the same time, so the memory does not grow with the number of queries.
template <class Batch>
struct RunBatches {
  using T = typename Batch::T;
  Batch batch;
  std::int64_t batches;
  std::int64_t slot_count;
  T* memory;
  std::int64_t memory_per_slot;  // numbers

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    const typename Batch::Team team;
    for (std::int64_t b = slot; b < batches; b += slot_count) batch(team, b, memory + slot * memory_per_slot);
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
  std::int64_t slot_count;
  T* memory;
  std::int64_t memory_per_slot;  // numbers

  template <class Block>
  INCONTEXT_HD void operator()(std::int64_t slot, const Block& block) const {
    T* const shared = reinterpret_cast<T*>(block.shared);
    T* const own = memory == nullptr ? shared + Batch::Team::shared_numbers : memory + slot * memory_per_slot;
    const typename Batch::Team team{block, shared};
    for (std::int64_t b = slot; b < batches; b += slot_count) batch(team, b, own);
  }
};

inline namespace INCONTEXT_PACKS {

/// What is kept of the queries: every member is an array with a number per query.
///
/// The weight of key j is \f$ a_j = 2^{r \sigma(z_j) - m} / Z \f$ where \f$ \sigma \f$ is the reader's shape, r the
/// rate, m the reference and 1/Z the inverse sum. The gradient by that weight is \f$ g \cdot v_j \f$, with the
/// cotangent g of the query's output.
template <class T>
struct QueryNumbers {
  T* rate;         // r: phi(z) log2(e) = r shape(z)
  T* reference;    // m: the largest r shape(z_j)
  T* inverse_sum;  // 1 / Z, Z the sum of 2^(r shape(z_j) - m)
  T* mean;         // sum_j a_j (g . v_j)
  T* by_shape;     // ParameterSums::shape
  T* by_other;     // ParameterSums::other
};

/// The matrices of a layer and the matrices of its gradients, in memory that the system can read. Plain data;
/// problem.out is not used.
template <class T>
struct GradientProblem {
  Problem<T> problem;
  MatrixView<const T> cotangent;  // g: a row per query
  MatrixView<T> to_queries;
  MatrixView<T> to_keys;
  MatrixView<T> to_values;
  QueryNumbers<T> kept;
};

/// The weights \f$ 2^{r \sigma(z) - m} / Z \f$ in a pack: of one key for several queries, or of several keys for one.
template <class T>
INCONTEXT_HD inline Pack<T> weight_of(const Pack<T>& shape, const Pack<T>& rate, const Pack<T>& reference,
                                      const Pack<T>& inverse_sum) {
  const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
  const Pack<T> octaves = shape * rate - reference;
  return elementary::exp2_of<T>(octaves < lowest ? lowest : octaves) * inverse_sum;
}

/// Writes the rows of a matrix whose columns are in `sums`: component c of the row in lane l is sums[c * lanes + l]. It
/// waits, as write_outputs does.
template <class Team, class T>
INCONTEXT_HD void write_lanes(const Team& team, MatrixView<T> out, std::int64_t first, const T* sums) {
  const std::int64_t left = out.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, out.columns,
                [&](std::int64_t l, std::int64_t c) { out(first + l, c) = sums[c * Team::lanes + l]; });
  team.wait();
}

}  // namespace INCONTEXT_PACKS

}  // namespace incontext::apply::detail
