#pragma once

#include <cstdint>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/tile.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/core/two_sum.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Attention by softmax after an elementwise map, as online softmax: whenever a block of keys raises the maximum of a
/// lane, the sums of that lane are rescaled to the new maximum.
template <class Stream, int packs>
struct SoftmaxBatch {
  using T = typename Stream::T;
  static constexpr int lanes = lanes_of<T, packs>;
  static constexpr int width = pack_width<T>;
  Stream stream;
  Problem<T> problem;

  std::int64_t scratch() const { return lanes * (problem.queries.columns + problem.values.columns + key_block); }

  struct State {
    Pack<T> rate[packs];       // octaves per unit of phi's shape
    Pack<T> seen[packs];       // keys of this block that are visible, at most key_block
    Pack<T> reference[packs];  // largest exponent so far, in octaves
    Pack<T> total[packs];
    Pack<T> lost[packs];
    Pack<T> scale[packs];
  };

  INCONTEXT_HD void operator()(std::int64_t batch, T* memory) const {
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const powers = sums + lanes * problem.values.columns;
    load_queries<lanes>(problem.queries, first, queries);
    clear(sums, lanes * problem.values.columns);
    State state;
    begin(state, first);
    const std::int64_t most = problem.template most_seen<lanes>(first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      score_block<packs>(queries, problem.keys, j, last, powers);
      const bool all = look(state, first, j, last);
      raise_to_powers(state, powers, last - j, all);
      add_values<packs>(powers, problem.values, j, last, state.scale, sums);
    }
    T normalizer[lanes];
    for (int p = 0; p < packs; ++p) store_pack(normalizer + p * width, state.total[p] + state.lost[p]);
    write_outputs<lanes>(problem, first, sums, normalizer);
  }

  INCONTEXT_HD void begin(State& state, std::int64_t first) const {
    T rates[lanes];
    for (int l = 0; l < lanes; ++l) rates[l] = stream.octaves_a_unit(problem.seen(first + l));
    for (int p = 0; p < packs; ++p) {
      state.rate[p] = load_pack(rates + p * width);
      state.reference[p] = pack_of(T(-math::infinity<T>()));
      state.total[p] = state.lost[p] = state.scale[p] = pack_of(T(0));
    }
  }

  /// Finds how many keys of the block each lane sees; returns whether all lanes see all of them.
  INCONTEXT_HD bool look(State& state, std::int64_t query, std::int64_t first, std::int64_t last) const {
    bool all = true;
    T seen[lanes];
    for (int l = 0; l < lanes; ++l) {
      const std::int64_t end = problem.seen(query + l);
      all = all && end >= last;
      seen[l] = end <= first ? T(0) : static_cast<T>((end < last ? end : last) - first);
    }
    for (int p = 0; p < packs; ++p) state.seen[p] = load_pack(seen + p * width);
    return all;
  }

  INCONTEXT_HD void raise_to_powers(State& state, T* powers, std::int64_t count, bool all) const {
    const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
    const Pack<T> nothing = pack_of(T(-math::infinity<T>()));
    for (int p = 0; p < packs; ++p) {
      Pack<T> largest = state.reference[p];
      for (std::int64_t j = 0; j < count; ++j) {
        T* const at = powers + j * lanes + p * width;
        Pack<T> octaves = stream.shape(load_pack<T>(at)) * state.rate[p];
        if (!all) octaves = pack_of(static_cast<T>(j)) < state.seen[p] ? octaves : nothing;
        largest = largest < octaves ? octaves : largest;
        store_pack(at, octaves);
      }
      const Pack<T> drop = state.reference[p] - largest;
      state.scale[p] = elementary::exp2_of<T>(drop < lowest ? lowest : drop);
      state.reference[p] = largest;
      Pack<T> sum = pack_of(T(0));
      for (std::int64_t j = 0; j < count; ++j) {
        T* const at = powers + j * lanes + p * width;
        const Pack<T> octaves = load_pack<T>(at) - largest;
        const Pack<T> power = elementary::exp2_of<T>(octaves < lowest ? lowest : octaves);
        sum = sum + power;
        store_pack(at, power);
      }
      state.total[p] = state.total[p] * state.scale[p];
      state.lost[p] = state.lost[p] * state.scale[p];
      math::add_compensated<Pack<T>>(state.total[p], state.lost[p], sum);
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
