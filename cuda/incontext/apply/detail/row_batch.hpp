#pragma once

#include <cstdint>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/tile.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Attention by any other map on whole rows: the scores of one lane after the other are copied out, mapped, and copied
/// back.
template <class Map, int packs>
struct RowBatch {
  using T = typename Map::value_type;
  static constexpr int lanes = lanes_of<T, packs>;
  Map map;
  Problem<T> problem;

  std::int64_t scratch() const {
    return lanes * (problem.queries.columns + problem.values.columns + problem.keys.rows) + problem.keys.rows;
  }

  INCONTEXT_HD void operator()(std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const scores = sums + lanes * problem.values.columns;
    load_queries<lanes>(problem.queries, first, queries);
    clear(sums, lanes * problem.values.columns);
    const std::int64_t most = problem.template most_seen<lanes>(first);
    score_block<packs>(queries, problem.keys, 0, most, scores);
    for (int l = 0; l < lanes; ++l) {
      const std::int64_t end = problem.seen(first + l);
      const Row<T> row(scores + most * lanes, end);
      for (std::int64_t j = 0; j < end; ++j) row[j] = scores[j * lanes + l];
      if (end > 0) weights(map, Row<const T>(row), row);
      for (std::int64_t j = 0; j < most; ++j) scores[j * lanes + l] = j < end ? row[j] : T(0);
    }
    Pack<T> one[packs];
    for (int p = 0; p < packs; ++p) one[p] = pack_of(T(1));
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      add_values<packs>(scores + j * lanes, problem.values, j, last, one, sums);
    }
    T ones[lanes];
    for (int l = 0; l < lanes; ++l) ones[l] = T(1);
    write_outputs<lanes>(problem, first, sums, ones);
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
