#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/gradient_problem.hpp"
#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Computes the gradients of a batch of keys and of their values, one key in each lane, over all queries i.
///
/// \f[ \bar k_j = \sum_i \phi_i'(z_{ij})\, y_{ij}\, q_i, \qquad \bar v_j = \sum_i a_{ij}\, g_i, \qquad
///     y_{ij} = a_{ij} \Bigl(g_i \cdot v_j - \sum_k a_{ik}\, g_i \cdot v_k\Bigr), \qquad z_{ij} = q_i \cdot k_j \f]
///
/// It reads the numbers that QueryGradientBatch kept of each query: those that make a_ij of z_ij, and the sum over k.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map.
template <class Reader, class BatchTeam>
struct KeyGradientBatch {
  using T = typename Reader::T;
  using Team = BatchTeam;
  static constexpr std::string_view task = "gradients of the keys";
  static constexpr int packs = Team::packs, lanes = Team::lanes;
  Reader reader;
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
    T* const by_weight = scores + lanes * key_block;
    T* const ones = by_weight + lanes * key_block;
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
      team.score_block(values, all.cotangent, i, last, by_weight);
      for (std::int64_t k = i + team.part(); k < last; k += Team::parts) {
        to_weights_and_gradients(team, k, problem.seen(k) - first, scores + (k - i) * lanes,
                                 by_weight + (k - i) * lanes);
      }
      team.wait();
      team.add_values(scores, all.cotangent, i, last, ones, to_values);
      team.add_values(by_weight, problem.queries, i, last, ones, to_keys);
    }
    write_lanes(team, all.to_keys, first, to_keys);
    write_lanes(team, all.to_values, first, to_values);
  }

  /// Replaces the scores of one query with the lanes' keys by the weights, and the gradients by the weights by those by
  /// the scores. The first `seen` lanes are keys that the query sees.
  INCONTEXT_HD void to_weights_and_gradients(const Team& team, std::int64_t query, std::int64_t seen, T* scores,
                                             T* by_weight) const {
    const GradientReader<Reader> gradient{reader.map};
    const Pack<T> rate = pack_of(all.kept.rate[query]), reference = pack_of(all.kept.reference[query]);
    const Pack<T> inverse_sum = pack_of(all.kept.inverse_sum[query]), mean = pack_of(all.kept.mean[query]);
    const Pack<T> natural = rate * (T(1) / elementary::log2_e<T>);
    for (int p = 0; p < packs; ++p) {
      const std::int64_t place = Team::at(p) + team.lane(0);
      const Pack<T> z = load_pack<T>(scores + place);
      Pack<T> weight = weight_of<T>(reader.shape(z), rate, reference, inverse_sum);
      if (seen < lanes) {
        const Pack<T> lane = team.pack(p, [](int l) { return static_cast<T>(l); });
        weight = lane < pack_of(static_cast<T>(seen)) ? weight : pack_of(T(0));
      }
      const Pack<T> change = weight * (load_pack<T>(by_weight + place) - mean);
      store_pack(scores + place, weight);
      store_pack(by_weight + place, change * gradient.slope(z) * natural);
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
