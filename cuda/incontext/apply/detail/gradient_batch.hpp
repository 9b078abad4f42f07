#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/gradient_streams.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

/// The backward pass of attention by blocks. A batch of queries first finds its normalizers and its means a . g, then
/// its own gradients; a batch of keys then meets every query, whose numbers it finds in memory of O(queries). Weights
/// are computed again from the scores each time, so that no matrix of them is held.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// What is kept of a query: an array for each member.
template <class T>
struct QueryNumbers {
  T* rate;       // phi(z) in octaves is rate shape(z)
  T* reference;  // the largest phi, in octaves
  T* share;      // 1 / the sum of powers relative to it
  T* mean;       // a . g
  T* by_shape;
  T* by_other;
};

/// Attention's matrices and their gradients as a system sees them; plain data. problem.out is not used.
template <class T>
struct GradientProblem {
  Problem<T> problem;
  MatrixView<const T> cotangent;
  MatrixView<T> to_queries;
  MatrixView<T> to_keys;
  MatrixView<T> to_values;
  QueryNumbers<T> kept;
};

/// a = 2^(rate shape - reference) share.
template <class T>
INCONTEXT_HD inline Pack<T> weight_of(const Pack<T>& shape, const Pack<T>& rate, const Pack<T>& reference,
                                      const Pack<T>& share) {
  const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
  const Pack<T> octaves = shape * rate - reference;
  return elementary::exp2_of<T>(octaves < lowest ? lowest : octaves) * share;
}

template <class T, int packs>
INCONTEXT_HD void fill_packs(Pack<T> (&to)[packs], const T& value) {
  for (int p = 0; p < packs; ++p) to[p] = pack_of(value);
}

/// The rows of a matrix that lie in the lanes.
template <class Team, class T>
INCONTEXT_HD void write_lanes(const Team& team, MatrixView<T> out, std::int64_t first, const T* sums) {
  const std::int64_t left = out.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, out.columns,
                [&](std::int64_t l, std::int64_t c) { out(first + l, c) = sums[c * Team::lanes + l]; });
}

template <class Stream, class BatchTeam>
struct QueryGradientBatch {
  using T = typename Stream::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "gradients of the queries";
  using Softmax = SoftmaxBatch<Stream, Team>;
  using Gradient = GradientStream<Stream>;
  static constexpr int packs = Team::packs, lanes = Team::lanes;
  Stream stream;
  GradientProblem<T> all;

  std::int64_t scratch() const {
    return lanes * (2 * all.problem.queries.columns + all.problem.values.columns + 3 * key_block + 1);
  }

  /// What a batch keeps in its memory, an array over lanes each.
  struct Arrays {
    T* queries;
    T* sums;
    T* cotangent;
    T* scores;
    T* pulls;
    T* others;
    T* ones;
  };

  INCONTEXT_HD Arrays arrays_in(T* memory) const {
    Arrays in;
    in.queries = memory;
    in.sums = in.queries + lanes * all.problem.queries.columns;
    in.cotangent = in.sums + lanes * all.problem.queries.columns;
    in.scores = in.cotangent + lanes * all.problem.values.columns;
    in.pulls = in.scores + lanes * key_block;
    in.others = in.pulls + lanes * key_block;
    in.ones = in.others + lanes * key_block;
    return in;
  }

  /// What a thread keeps of its queries.
  struct State {
    typename Softmax::State softmax;
    Pack<T> share[packs];
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
    State state;
    const std::int64_t most = problem.template most_seen<lanes>(first);
    find_means(team, state, in, first, most);
    fill_packs(state.by_shape, T(0));
    fill_packs(state.by_other, T(0));
    const Softmax softmax{stream, problem};
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(in.queries, problem.keys, j, last, in.scores);
      team.score_block(in.cotangent, problem.values, j, last, in.pulls);
      const bool whole = softmax.look(team, state.softmax, first, j, last);
      if (j == 0) look_at_first_key(team, state, in);
      pull_on_scores(team, state, in, last - j, whole);
      team.add_values(in.scores, problem.keys, j, last, in.ones, in.sums);
    }
    write_lanes(team, all.to_queries, first, in.sums);
    keep(team, all.kept.rate, first, state.softmax.rate);
    keep(team, all.kept.reference, first, state.softmax.reference);
    keep(team, all.kept.share, first, state.share);
    keep(team, all.kept.mean, first, state.mean);
    keep(team, all.kept.by_shape, first, state.by_shape);
    keep(team, all.kept.by_other, first, state.by_other);
  }

  /// The forward pass: the normalizers and the means a . g.
  INCONTEXT_HD void find_means(const Team& team, State& state, const Arrays& in, std::int64_t first,
                               std::int64_t most) const {
    const Softmax softmax{stream, all.problem};
    softmax.begin(team, state.softmax, first);
    fill_packs(state.mean, T(0));
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      team.score_block(in.queries, all.problem.keys, j, last, in.scores);
      const bool whole = softmax.look(team, state.softmax, first, j, last);
      softmax.raise_to_powers(team, state.softmax, in.scores, last - j, whole);
      team.score_block(in.cotangent, all.problem.values, j, last, in.pulls);
      for (int p = 0; p < packs; ++p) {
        Pack<T> sum = pack_of(T(0));
        for (std::int64_t k = 0; k < last - j; ++k) {
          const std::int64_t at = k * lanes + Team::at(p) + team.lane(0);
          sum = sum + load_pack(in.scores + at) * load_pack(in.pulls + at);
        }
        state.mean[p] = state.mean[p] * state.softmax.scale[p] + sum;
      }
      team.wait();
    }
    for (int p = 0; p < packs; ++p) {
      state.share[p] = pack_of(T(1)) / (state.softmax.total[p] + state.softmax.lost[p]);
      state.mean[p] = state.mean[p] * state.share[p];
    }
  }

  INCONTEXT_HD void look_at_first_key(const Team& team, State& state, const Arrays& in) const {
    const Gradient gradient{stream.map};
    for (int p = 0; p < packs; ++p) {
      const Pack<T> z = load_pack<T>(in.scores + Team::at(p) + team.lane(0));
      state.shape_at_0[p] = stream.shape(z);
      state.other_at_0[p] = gradient.other(z);
    }
    if constexpr (Team::parts > 1) team.wait();
  }

  /// The scores of a block become what is pulled on them; the sums by shape and by what else it depends on grow.
  INCONTEXT_HD void pull_on_scores(const Team& team, State& state, const Arrays& in, std::int64_t count,
                                   bool whole) const {
    constexpr bool is_alone = Team::parts == 1;
    const Gradient gradient{stream.map};
    for (int p = 0; p < packs; ++p) {
      const Pack<T> natural = state.softmax.rate[p] * (T(1) / elementary::log2_e<T>);
      Pack<T> shapes = pack_of(T(0)), others = pack_of(T(0));
      for (std::int64_t k = team.part(); k < count; k += Team::parts) {
        const std::int64_t place = k * lanes + Team::at(p) + team.lane(0);
        const Pack<T> z = load_pack<T>(in.scores + place);
        const Pack<T> shape = stream.shape(z);
        Pack<T> weight = weight_of<T>(shape, state.softmax.rate[p], state.softmax.reference[p], state.share[p]);
        if (!whole) weight = pack_of(static_cast<T>(k)) < state.softmax.seen[p] ? weight : pack_of(T(0));
        const Pack<T> change = weight * (load_pack<T>(in.pulls + place) - state.mean[p]);
        const Pack<T> by_shape = change * (shape - state.shape_at_0[p]);
        if constexpr (is_alone) {
          shapes = shapes + by_shape;
        } else {
          store_pack(in.pulls + place, by_shape);
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
        shapes = sum_of_keys<Team, T>(in.pulls + team.lane(0), count);
        if constexpr (Gradient::has_other) others = sum_of_keys<Team, T>(in.others + team.lane(0), count);
      }
      state.by_shape[p] = state.by_shape[p] + shapes;
      state.by_other[p] = state.by_other[p] + others;
    }
  }

  INCONTEXT_HD void keep(const Team& team, T* to, std::int64_t first, const Pack<T> (&numbers)[packs]) const {
    T copy[Team::own];
    for (int p = 0; p < packs; ++p) store_pack(copy + Team::at(p), numbers[p]);
    for (int i = 0; i < Team::own && team.part() == 0; ++i) {
      if (first + team.lane(i) < all.problem.queries.rows) to[first + team.lane(i)] = copy[i];
    }
  }
};

/// Every lane is a key.
template <class Stream, class BatchTeam>
struct KeyGradientBatch {
  using T = typename Stream::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "gradients of the keys";
  static constexpr int packs = Team::packs, lanes = Team::lanes;
  Stream stream;
  GradientProblem<T> all;

  std::int64_t scratch() const {
    return lanes * (2 * (all.problem.keys.columns + all.problem.values.columns + key_block) + 1);
  }

  INCONTEXT_HD void operator()(const Team& team, std::int64_t batch, T* memory) const {
    const Problem<T>& problem = all.problem;
    const std::int64_t first = batch * lanes;
    T* const keys = memory;
    T* const to_keys = keys + lanes * problem.keys.columns;
    T* const values = to_keys + lanes * problem.keys.columns;
    T* const to_values = values + lanes * problem.values.columns;
    T* const scores = to_values + lanes * problem.values.columns;
    T* const pulls = scores + lanes * key_block;
    T* const ones = pulls + lanes * key_block;
    load_queries(team, problem.keys, first, keys);
    load_queries(team, problem.values, first, values);
    fill(team, to_keys, lanes * problem.keys.columns, T(0));
    fill(team, to_values, lanes * problem.values.columns, T(0));
    fill(team, ones, lanes, T(1));
    const std::int64_t queries = problem.queries.rows;
    for (std::int64_t i = 0; i < queries; i += key_block) {
      const std::int64_t last = i + key_block < queries ? i + key_block : queries;
      std::int64_t most = 0;
      for (std::int64_t k = i; k < last; ++k) most = problem.seen(k) > most ? problem.seen(k) : most;
      if (most <= first) continue;
      team.score_block(keys, problem.queries, i, last, scores);
      team.score_block(values, all.cotangent, i, last, pulls);
      for (std::int64_t k = i + team.part(); k < last; k += Team::parts) {
        pull_on_keys(team, k, problem.seen(k) - first, scores + (k - i) * lanes, pulls + (k - i) * lanes);
      }
      team.wait();
      team.add_values(scores, all.cotangent, i, last, ones, to_values);
      team.add_values(pulls, problem.queries, i, last, ones, to_keys);
    }
    write_lanes(team, all.to_keys, first, to_keys);
    write_lanes(team, all.to_values, first, to_values);
  }

  /// One query's scores with the lanes' keys become weights, and its pulls on the weights become pulls on the scores.
  INCONTEXT_HD void pull_on_keys(const Team& team, std::int64_t query, std::int64_t seen, T* scores, T* pulls) const {
    const GradientStream<Stream> gradient{stream.map};
    const Pack<T> rate = pack_of(all.kept.rate[query]), reference = pack_of(all.kept.reference[query]);
    const Pack<T> share = pack_of(all.kept.share[query]), mean = pack_of(all.kept.mean[query]);
    const Pack<T> natural = rate * (T(1) / elementary::log2_e<T>);
    for (int p = 0; p < packs; ++p) {
      const std::int64_t place = Team::at(p) + team.lane(0);
      const Pack<T> z = load_pack<T>(scores + place);
      Pack<T> weight = weight_of<T>(stream.shape(z), rate, reference, share);
      if (seen < lanes) {
        const Pack<T> lane = team.pack(p, [](int l) { return static_cast<T>(l); });
        weight = lane < pack_of(static_cast<T>(seen)) ? weight : pack_of(T(0));
      }
      const Pack<T> change = weight * (load_pack<T>(pulls + place) - mean);
      store_pack(scores + place, weight);
      store_pack(pulls + place, change * gradient.slope(z) * natural);
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
