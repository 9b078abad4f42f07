#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/row.hpp"

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
}  // namespace incontext::apply::detail
