#pragma once

#include <cstdint>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/core/host_device.hpp"

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

/// Writes the outputs of the batch of queries from `first` on. The output of lane l is its weighted sum of values,
/// whose component e is sums[e * lanes + l], divided by the lane's normalizer.
template <int lanes, class T>
INCONTEXT_HD void write_outputs(const Problem<T>& problem, std::int64_t first, const T* sums, const T* normalizer) {
  for (int l = 0; l < lanes && first + l < problem.queries.rows; ++l) {
    for (std::int64_t e = 0; e < problem.values.columns; ++e) {
      problem.out(first + l, e) = sums[e * lanes + l] / normalizer[l];
    }
  }
}

/// Sets `count` numbers to 0.
template <class T>
INCONTEXT_HD void clear(T* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = T(0);
}

/// Computes every `slots`-th batch of queries, one after the other in the same memory. A batch is the queries that a
/// processor works on side by side, one query in each of its lanes; a slot is the working memory for one batch. There
/// are only as many slots as run at the same time, so the memory does not grow with the number of queries.
template <class Batch>
struct RunSlot {
  using T = typename Batch::T;
  Batch batch;
  std::int64_t batches;
  std::int64_t slots;
  T* memory;
  std::int64_t memory_per_slot;  // numbers

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    for (std::int64_t b = slot; b < batches; b += slots) batch(b, memory + slot * memory_per_slot);
  }
};

}  // namespace incontext::apply::detail
