#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/gradient_problem.hpp"
#include "incontext/apply/detail/gradient_streams.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

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

  /// One query's scores with the lanes' keys become weights, and its gradient by the weights becomes that by the
  /// scores.
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
