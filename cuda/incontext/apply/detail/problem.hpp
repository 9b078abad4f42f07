#pragma once

#include <cstdint>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/core/host_device.hpp"

namespace incontext::apply::detail {

/// Attention's matrices as a system sees them; plain data.
template <class T>
struct Problem {
  MatrixView<const T> queries;
  MatrixView<const T> keys;
  MatrixView<const T> values;
  MatrixView<T> out;
  VisibleKeys visible;

  /// The number of keys that a query sees; 0 for a lane beyond the last query.
  INCONTEXT_HD std::int64_t seen(std::int64_t query) const { return query < queries.rows ? visible(query) : 0; }
  template <int lanes>
  INCONTEXT_HD std::int64_t most_seen(std::int64_t first) const {
    std::int64_t most = 0;
    for (int l = 0; l < lanes; ++l) most = seen(first + l) > most ? seen(first + l) : most;
    return most;
  }
};

/// out_i = sums[.][lane] / normalizer[lane].
template <int lanes, class T>
INCONTEXT_HD void write_outputs(const Problem<T>& problem, std::int64_t first, const T* sums, const T* normalizer) {
  for (int l = 0; l < lanes && first + l < problem.queries.rows; ++l) {
    for (std::int64_t e = 0; e < problem.values.columns; ++e) {
      problem.out(first + l, e) = sums[e * lanes + l] / normalizer[l];
    }
  }
}

template <class T>
INCONTEXT_HD void clear(T* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = T(0);
}

/// Runs every slots-th batch, in one slot's own memory.
template <class Batch>
struct RunSlot {
  using T = typename Batch::T;
  Batch batch;
  std::int64_t batches;
  std::int64_t slots;
  T* memory;
  std::int64_t memory_a_slot;

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    for (std::int64_t b = slot; b < batches; b += slots) batch(b, memory + slot * memory_a_slot);
  }
};

}  // namespace incontext::apply::detail
