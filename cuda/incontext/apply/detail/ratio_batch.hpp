#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

namespace incontext::apply::detail {
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
}  // namespace incontext::apply::detail
