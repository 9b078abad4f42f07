#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

template <class T, int packs>
INCONTEXT_HD void fill_packs(Pack<T> (&to)[packs], const T& value) {
  for (int p = 0; p < packs; ++p) to[p] = pack_of(value);
}

/// Computes the gradients of a batch of queries, one query in each lane, over the keys j that it sees, and keeps the
/// numbers of QueryNumbers.
///
/// \f[ \bar q_i = \sum_j \phi_i'(z_{ij})\, y_{ij}\, k_j, \qquad
///     y_{ij} = a_{ij} \Bigl(g_i \cdot v_j - \sum_k a_{ik}\, g_i \cdot v_k\Bigr), \qquad z_{ij} = q_i \cdot k_j \f]
///
/// The normalizer of the weights and the sum over k come from a first pass over the keys. The sums for the map's
/// parameters take shapes relative to that of the first key: the y_ij of a query add up to 0, so that this changes
/// nothing but the rounding, which is then 0 where all scores are equal.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map.
template <class Reader, class BatchTeam>
struct QueryGradientBatch {
  using T = typename Reader::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "gradients of the queries";
  using Softmax = SoftmaxBatch<Reader, Team>;
  using Gradient = GradientReader<Reader>;
  static constexpr int packs = Team::packs, lanes = Team::lanes;
  Reader reader;
  GradientProblem<T> all;

  std::int64_t scratch() const {
    return lanes * (2 * all.problem.queries.columns + all.problem.values.columns + 3 * key_block + 1);
  }

  /// The arrays of a batch in its slot; each has a number per lane, and per component or key of the block.
  struct Arrays {
    T* queries;
    T* sums;
    T* cotangent;
    T* scores;
    T* by_weight;  // g . v_j; then the weights or, on a GPU, the terms of ParameterSums::shape
    T* others;     // the terms of ParameterSums::other
    T* ones;
  };

  INCONTEXT_HD Arrays arrays_in(T* memory) const {
    Arrays in;
    in.queries = memory;
    in.sums = in.queries + lanes * all.problem.queries.columns;
    in.cotangent = in.sums + lanes * all.problem.queries.columns;
    in.scores = in.cotangent + lanes * all.problem.values.columns;
    in.by_weight = in.scores + lanes * key_block;
    in.others = in.by_weight + lanes * key_block;
    in.ones = in.others + lanes * key_block;
    return in;
  }

  /// What a thread keeps of its queries in registers.
  struct State {
    typename Softmax::State softmax;
    Pack<T> inverse_sum[packs];
    Pack<T> mean[packs];
    Pack<T> shape_at_0[packs];
    Pack<T> other_at_0[packs];
    Pack<T> by_shape[packs];
    Pack<T> by_other[packs];
  };

  INCONTEXT_HD void operator()(const Team& team, std::int64_t batch, T* memory) const {
    const Problem<T>& problem = all.problem;
    const std::int64_t first = batch * lanes;
    const Arrays in = arrays_in(memory);
    load_queries(team, problem.queries, first, in.queries);
    load_queries(team, all.cotangent, first, in.cotangent);
    fill(team, in.sums, lanes * problem.queries.columns, T(0));
    fill(team, in.ones, lanes, T(1));
    team.wait();  // where no query sees a key, nothing else waits before the sums are written
    State state;
    const std::int64_t most = problem.template most_seen<lanes>(first);
    find_means(team, state, in, first, most);
    const Softmax softmax = this->softmax();
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(in.queries, problem.keys, j, last, in.scores);
      team.score_block(in.cotangent, problem.values, j, last, in.by_weight);
      const bool whole = softmax.look(team, state.softmax, first, j, last);
      if (j == 0) look_at_first_key(team, state, in);
      to_score_gradients(team, state, in, last - j, whole);
      team.add_values(in.scores, problem.keys, j, last, in.ones, in.sums);
    }
    write_lanes(team, all.to_queries, first, in.sums);
    keep(team, all.kept.rate, first, state.softmax.rate);
    keep(team, all.kept.reference, first, state.softmax.reference);
    keep(team, all.kept.inverse_sum, first, state.inverse_sum);
    keep(team, all.kept.mean, first, state.mean);
    keep(team, all.kept.by_shape, first, state.by_shape);
    keep(team, all.kept.by_other, first, state.by_other);
  }

  [[nodiscard]] INCONTEXT_HD Softmax softmax() const { return {reader, all.problem}; }

  INCONTEXT_HD void begin(const Team& team, State& state, std::int64_t first) const {
    softmax().begin(team, state.softmax, first);
    fill_packs(state.mean, T(0));
    fill_packs(state.by_shape, T(0));
    fill_packs(state.by_other, T(0));
  }

  /// The first pass: the normalizers of the weights, and the means of the gradients by the weights.
  INCONTEXT_HD void find_means(const Team& team, State& state, const Arrays& in, std::int64_t first,
                               std::int64_t most) const {
    const Softmax softmax = this->softmax();
    begin(team, state, first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(in.queries, all.problem.keys, j, last, in.scores);
      const bool whole = softmax.look(team, state.softmax, first, j, last);
      softmax.raise_to_powers(team, state.softmax, in.scores, last - j, whole);
      team.score_block(in.cotangent, all.problem.values, j, last, in.by_weight);
      add_means(team, state, in.scores, in.by_weight, last - j);
      team.wait();
    }
    end_means(state);
  }

  /// Adds a block's powers times g . v_j, relative to the reference that the block left.
  INCONTEXT_HD void add_means(const Team& team, State& state, const T* powers, const T* by_weight,
                              std::int64_t count) const {
    for (int p = 0; p < packs; ++p) {
      Pack<T> sum = pack_of(T(0));
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t at = k * lanes + Team::at(p) + team.lane(0);
        sum = sum + load_pack(powers + at) * load_pack(by_weight + at);
      }
      state.mean[p] = state.mean[p] * state.softmax.scale[p] + sum;
    }
  }

  /// Divides by the normalizers, which are known when all keys have been looked at.
  INCONTEXT_HD void end_means(State& state) const {
    for (int p = 0; p < packs; ++p) {
      state.inverse_sum[p] = pack_of(T(1)) / (state.softmax.total[p] + state.softmax.lost[p]);
      state.mean[p] = state.mean[p] * state.inverse_sum[p];
    }
  }

  /// Takes the shapes of the first key, to which the sums for the parameters are relative.
  INCONTEXT_HD void look_at_first_key(const Team& team, State& state, const Arrays& in) const {
    const Gradient gradient{reader.map};
    for (int p = 0; p < packs; ++p) {
      const Pack<T> z = load_pack<T>(in.scores + Team::at(p) + team.lane(0));
      state.shape_at_0[p] = reader.shape(z);
      state.other_at_0[p] = gradient.other(z);
    }
    if constexpr (Team::parts > 1) team.wait();
  }

  /// Replaces the scores of a block of keys by the gradients by them, and adds the block's terms to the sums from which
  /// the gradients by the map's parameters follow. On a CPU the weights take the place of g . v_j.
  INCONTEXT_HD void to_score_gradients(const Team& team, State& state, const Arrays& in, std::int64_t count,
                                       bool whole) const {
    constexpr bool is_alone = Team::parts == 1;
    const Gradient gradient{reader.map};
    for (int p = 0; p < packs; ++p) {
      const Pack<T> natural = state.softmax.rate[p] * (T(1) / elementary::log2_e<T>);
      Pack<T> shapes = pack_of(T(0)), others = pack_of(T(0));
      for (std::int64_t k = team.part(); k < count; k += Team::parts) {
        const std::int64_t place = k * lanes + Team::at(p) + team.lane(0);
        const Pack<T> z = load_pack<T>(in.scores + place);
        const Pack<T> shape = reader.shape(z);
        Pack<T> weight = weight_of<T>(shape, state.softmax.rate[p], state.softmax.reference[p], state.inverse_sum[p]);
        if (!whole) weight = pack_of(static_cast<T>(k)) < state.softmax.seen[p] ? weight : pack_of(T(0));
        const Pack<T> change = weight * (load_pack<T>(in.by_weight + place) - state.mean[p]);
        const Pack<T> by_shape = change * (shape - state.shape_at_0[p]);
        if constexpr (is_alone) {
          shapes = shapes + by_shape;
          store_pack(in.by_weight + place, weight);
        } else {
          store_pack(in.by_weight + place, by_shape);
        }
        if constexpr (Gradient::has_other) {
          const Pack<T> by_other = change * (gradient.other(z) - state.other_at_0[p]);
          if constexpr (is_alone) {
            others = others + by_other;
          } else {
            store_pack(in.others + place, by_other);
          }
        }
        store_pack(in.scores + place, change * gradient.slope(z) * natural);
      }
      if constexpr (!is_alone) {
        team.wait();
        shapes = sum_of_keys<Team, T>(in.by_weight + team.lane(0), count);
        if constexpr (Gradient::has_other) others = sum_of_keys<Team, T>(in.others + team.lane(0), count);
      }
      state.by_shape[p] = state.by_shape[p] + shapes;
      state.by_other[p] = state.by_other[p] + others;
    }
  }

  /// Writes a number per query of the batch, for the batches of keys and for the host.
  INCONTEXT_HD void keep(const Team& team, T* to, std::int64_t first, const Pack<T> (&numbers)[packs]) const {
    T copy[Team::own];
    for (int p = 0; p < packs; ++p) store_pack(copy + Team::at(p), numbers[p]);
    for (int i = 0; i < Team::own && team.part() == 0; ++i) {
      if (first + team.lane(i) < all.problem.queries.rows) to[first + team.lane(i)] = copy[i];
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
