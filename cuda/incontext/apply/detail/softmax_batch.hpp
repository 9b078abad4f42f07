#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/two_sum.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Attention by softmax after an elementwise map, by the online method (arXiv 1805.02867): each lane keeps the maximum
/// of its scores so far and sums relative to it. When a block of keys raises the maximum, the lane's sums are scaled
/// down to the new one.
template <class Reader, class BatchTeam>
struct SoftmaxBatch {
  using T = typename Reader::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "attention";
  static constexpr int packs = Team::packs, lanes = Team::lanes;
  Reader reader;
  Problem<T> problem;

  std::int64_t scratch() const { return lanes * (problem.queries.columns + problem.values.columns + key_block + 1); }

  struct State {
    Pack<T> rate[packs];       // octaves per unit of phi's shape
    Pack<T> seen[packs];       // keys of this block that are visible, at most key_block
    Pack<T> reference[packs];  // largest exponent so far, in octaves
    Pack<T> total[packs];
    Pack<T> lost[packs];
    Pack<T> scale[packs];
  };

  INCONTEXT_HD void operator()(const Team& team, std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const powers = sums + lanes * problem.values.columns;
    T* const scales = powers + lanes * key_block;
    load_queries(team, problem.queries, first, queries);
    fill(team, sums, lanes * problem.values.columns, T(0));
    State state;
    begin(team, state, first);
    const std::int64_t most = problem.template most_seen<lanes>(first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(queries, problem.keys, j, last, powers);
      const bool all = look(team, state, first, j, last);
      raise_to_powers(team, state, powers, last - j, all);
      write_packs(team, scales, [&](int p) { return state.scale[p]; });
      team.add_values(powers, problem.values, j, last, scales, sums);
    }
    write_packs(team, scales, [&](int p) { return state.total[p] + state.lost[p]; });
    team.wait();
    write_outputs(team, problem, first, sums, scales);
  }

  INCONTEXT_HD void begin(const Team& team, State& state, std::int64_t first) const {
    for (int p = 0; p < packs; ++p) {
      state.rate[p] = team.pack(p, [&](int l) { return reader.octaves_per_unit(problem.seen(first + l)); });
      state.reference[p] = pack_of(T(-math::infinity<T>()));
      state.total[p] = state.lost[p] = state.scale[p] = pack_of(T(0));
    }
  }

  /// Finds how many keys of the block each lane sees; returns whether the thread's lanes see all keys.
  INCONTEXT_HD bool look(const Team& team, State& state, std::int64_t query, std::int64_t first,
                         std::int64_t last) const {
    bool all = true;
    for (int p = 0; p < packs; ++p) {
      state.seen[p] = team.pack(p, [&](int l) {
        const std::int64_t end = problem.seen(query + l);
        all = all && end >= last;
        return end <= first ? T(0) : static_cast<T>((end < last ? end : last) - first);
      });
    }
    return all;
  }

  INCONTEXT_HD void raise_to_powers(const Team& team, State& state, T* powers, std::int64_t count, bool all) const {
    const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
    const Pack<T> nothing = pack_of(T(-math::infinity<T>()));
    T* const own = powers + team.lane(0);
    Pack<T> largest[packs], sum[packs];
    for (int p = 0; p < packs; ++p) largest[p] = state.reference[p];
    for (std::int64_t j = team.part(); j < count; j += Team::parts) {
      for (int p = 0; p < packs; ++p) {
        T* const at = own + j * lanes + Team::at(p);
        Pack<T> octaves = reader.shape(load_pack<T>(at)) * state.rate[p];
        if (!all) octaves = pack_of(static_cast<T>(j)) < state.seen[p] ? octaves : nothing;
        largest[p] = largest[p] < octaves ? octaves : largest[p];
        store_pack(at, octaves);
      }
    }
    for (int p = 0; p < packs; ++p) {
      largest[p] = team.largest_of(largest[p]);
      const Pack<T> drop = state.reference[p] - largest[p];
      state.scale[p] = elementary::exp2_of<T>(drop < lowest ? lowest : drop);
      state.reference[p] = largest[p];
      sum[p] = pack_of(T(0));
    }
    for (std::int64_t j = team.part(); j < count; j += Team::parts) {
      for (int p = 0; p < packs; ++p) {
        T* const at = own + j * lanes + Team::at(p);
        const Pack<T> octaves = load_pack<T>(at) - largest[p];
        const Pack<T> power = elementary::exp2_of<T>(octaves < lowest ? lowest : octaves);
        if constexpr (Team::parts == 1) sum[p] = sum[p] + power;
        store_pack(at, power);
      }
    }
    if constexpr (Team::parts > 1) team.wait();
    for (int p = 0; p < packs; ++p) {
      if constexpr (Team::parts > 1) sum[p] = sum_of_keys<Team, T>(own + Team::at(p), count);
      state.total[p] = state.total[p] * state.scale[p];
      state.lost[p] = state.lost[p] * state.scale[p];
      math::add_compensated<Pack<T>>(state.total[p], state.lost[p], sum[p]);
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
