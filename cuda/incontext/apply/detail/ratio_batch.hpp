#pragma once

#include <cstdint>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/tile.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Attention by functions of the score over a normalizer, with running sums over the keys.
template <class Stream, int packs>
struct RatioBatch {
  using T = typename Stream::T;
  static constexpr int lanes = lanes_of<T, packs>;
  Stream stream;
  Problem<T> problem;

  std::int64_t scratch() const { return lanes * (problem.queries.columns + problem.values.columns + key_block); }

  INCONTEXT_HD void operator()(std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const scores = sums + lanes * problem.values.columns;
    load_queries<lanes>(problem.queries, first, queries);
    clear(sums, lanes * problem.values.columns);
    T totals[lanes], guards[lanes];
    clear(totals, lanes);
    clear(guards, lanes);
    std::int64_t ends[lanes];
    for (int l = 0; l < lanes; ++l) ends[l] = problem.seen(first + l);
    Pack<T> one[packs];
    for (int p = 0; p < packs; ++p) one[p] = pack_of(T(1));
    const std::int64_t most = problem.template most_seen<lanes>(first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      score_block<packs>(queries, problem.keys, j, last, scores);
      add_block(scores, last - j, ends, j, totals, guards);
      add_values<packs>(scores, problem.values, j, last, one, sums);
    }
    for (int l = 0; l < lanes; ++l) {
      totals[l] = stream.normalizer(ends[l], totals[l]) + guards[l];
    }
    write_outputs<lanes>(problem, first, sums, totals);
  }

  /// Replaces the scores of a block by the values of the function, and adds them to the normalizer of each lane.
  INCONTEXT_HD void add_block(T* scores, std::int64_t count, const std::int64_t* ends, std::int64_t first, T* totals,
                              T* guards) const {
    T sum[lanes], seen[lanes];
    for (int l = 0; l < lanes; ++l) {
      sum[l] = T(0);
      seen[l] = static_cast<T>(ends[l] < first + count ? ends[l] - first : count);
    }
    for (std::int64_t k = 0; k < count; ++k) {
      T* const at = scores + k * lanes;
      const T index = static_cast<T>(k);
      for (int l = 0; l < lanes; ++l) {
        const T score = index < seen[l] ? at[l] : T(0);
        guards[l] = guards[l] + score * T(0);  // a score that is not finite must not vanish in f
        at[l] = index < seen[l] ? stream.value(score) : T(0);
        sum[l] = sum[l] + stream.counted(at[l]);
      }
    }
    for (int l = 0; l < lanes; ++l) totals[l] = totals[l] + sum[l];
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
