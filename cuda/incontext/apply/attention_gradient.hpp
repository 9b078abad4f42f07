#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/apply/attention.hpp"
#include "incontext/apply/detail/attend.hpp"
#include "incontext/apply/detail/checks.hpp"
#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/gradient_sweep.hpp"
#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/query_gradient_batch.hpp"
#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::apply {

/// Where `attention_gradient` writes: views of the caller's matrices.
///
/// Shapes    queries: q x d, keys: n x d, values: n x dv, any strides; they share no element with anything else.
template <class T>
struct AttentionGradient {
  scoring::MatrixView<T> queries;
  scoring::MatrixView<T> keys;
  scoring::MatrixView<T> values;
};

/// A map whose fused attention has a backward pass: Softmax, SSMax and SSA of float or double.
template <class Map>
concept FusedGradient = scoring::Scoring<Map> && (std::is_same_v<typename Map::value_type, float> ||
                                                  std::is_same_v<typename Map::value_type, double>)&&requires {
  requires detail::ReaderOf<Map>::type::is_softmax;
};

namespace detail {

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
    team.wait();  // where no query sees these keys, nothing else waits before the sums are written
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

}  // namespace detail

namespace detail {

template <class System, class Map>
auto attention_gradient_on(const Map& map, GradientProblem<typename Map::value_type> all,
                           const simulate::detail::Workers& workers) {
  using T = typename Map::value_type;
  using Reader = typename ReaderOf<Map>::type;
  using Team = detail::Team<System, T>;
  constexpr std::int64_t arrays = 6;
  const std::int64_t queries = all.problem.queries.rows;
  typename System::template Memory<T> memory;
  simulate::detail::make_room("apply::attention_gradient", memory, {queries, arrays, "queries", "nothing"});
  T* const first = address(memory);
  all.kept = {
      first, first + queries, first + 2 * queries, first + 3 * queries, first + 4 * queries, first + 5 * queries};
  const Reader reader{map};
  bool in_one_sweep = false;
  if constexpr (System::lanes > 1) {
    using Sweep = GradientSweep<Reader, Team>;
    in_one_sweep = Sweep::suits(queries, all.problem.keys.rows, System::workers(workers));
    if (in_one_sweep) Sweep::run(reader, all, workers);
  }
  if (!in_one_sweep) {
    run_batches<System>(QueryGradientBatch<Reader, Team>{reader, all}, queries, workers);
    run_batches<System>(KeyGradientBatch<Reader, Team>{reader, all}, all.problem.keys.rows, workers);
  }
  std::vector<ParameterSums> sums;
  const std::vector<T> host = simulate::detail::copy_to_host(memory, 4 * queries, 2 * queries);
  for (std::int64_t i = 0; i < queries; ++i) {
    const auto at = static_cast<std::size_t>(i);
    sums.push_back({static_cast<double>(host[at]), static_cast<double>(host[at + static_cast<std::size_t>(queries)])});
  }
  return sums;
}

}  // namespace detail

/// The backward pass of `attend`: the gradients by queries, keys, values and the map's parameters of a loss whose
/// gradient by the outputs, the cotangent, is given.
///
/// \f[ y_{ij} = a_{ij} \bigl(g_i \cdot v_j - \textstyle\sum_k a_{ik}\, g_i \cdot v_k\bigr), \quad
///     s_{ij} = \phi_i'(q_i \cdot k_j)\, y_{ij}, \quad
///     \bar q_i = \sum_j s_{ij} k_j, \; \bar k_j = \sum_i s_{ij} q_i, \; \bar v_j = \sum_i a_{ij} g_i, \;
///     \bar\theta = \sum_{ij} y_{ij} \frac{\partial \phi_i(q_i \cdot k_j)}{\partial \theta} \f]
///
/// No matrix of weights is formed. On a CPU a thread keeps the scores of 64 queries, and one sweep over the blocks of 64
/// keys gives the gradients by all three: five products of matrices, in memory of O(threads n + n (d + dv)). On a GPU,
/// where threads times n is above 2^18, and where several threads have fewer than two blocks of 64 queries or 64 keys
/// each, the weights are computed again from the scores, once for the queries and once for the keys: nine products, in
/// memory of O(q + threads (d + dv)). Every query's and every key's sums have one order, so the bits of finite numbers
/// depend neither on the number of threads nor on the way. The derivatives by the parameters are returned as a map: each
/// is in the member of the parameter's name, summed over the queries in a balanced tree.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map, by blocks as in arXiv 2205.14135.
/// Shapes    (queries: q x d, keys: n x d, values: n x dv, cotangent: q x dv, out: as queries, keys and values)
/// Units     those of cotangent times values over those of what is differentiated by.
/// Domain    the map's; for SSA, temperature / base between 64 times the least normal number and its inverse.
/// Limits    n = 1, or keys that no query sees: gradients 0 by queries and keys.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first query whose gradient is NaN; the gradients are written all the same.
/// Accuracy  sums in blocks of 64 keys or queries, to which products are added unrounded, as in attend: 256 eps times
///           the same sums of |a| (|g . v| + |a . g v|) with absolute values, on the layers of
///           tests/apply/attention_gradient.cpp.
/// Runs on   serial, OpenMP, TBB, CUDA (one block per 32 queries or keys)
template <FusedGradient Map>
auto attention_gradient(const Map& map, scoring::MatrixView<const typename Map::value_type> queries,
                        scoring::MatrixView<const typename Map::value_type> keys,
                        scoring::MatrixView<const typename Map::value_type> values,
                        scoring::MatrixView<const typename Map::value_type> cotangent,
                        const AttentionGradient<typename Map::value_type>& out, const Options& options = {}) {
  using T = typename Map::value_type;
  constexpr auto where = "apply::attention_gradient";
  detail::require_layer<T>(where, queries, keys, values);
  detail::require_shape(where, "cotangent", cotangent, queries.rows, values.columns);
  detail::require_shape(where, "gradient of the queries", out.queries, queries.rows, queries.columns);
  detail::require_shape(where, "gradient of the keys", out.keys, keys.rows, keys.columns);
  detail::require_shape(where, "gradient of the values", out.values, values.rows, values.columns);
  const scoring::MatrixView<T> written[] = {out.queries, out.keys, out.values};
  for (int k = 0; k < 3; ++k) {
    detail::require_separate_elements(where, written[k]);
    for (const scoring::MatrixView<const T>& in : {queries, keys, values, cotangent}) {
      if (detail::overlaps<T>(in, written[k])) {
        throw_invalid_argument(where, "a gradient shares elements with an input: gradient", k, "memory of its own");
      }
    }
    if (detail::overlaps<T>(written[k], written[(k + 1) % 3])) {
      throw_invalid_argument(where, "gradients share elements: gradient", k, "memory of its own");
    }
  }
  validate(where, options, queries.rows, keys.rows);
  const std::vector<std::int64_t> from_one = detail::counts_from_one(options);
  Options shown = options;
  shown.visible_counts = from_one;
  scoring::require_valid(map);
  const typename detail::ReaderOf<Map>::type reader{map};
  if (!reader.fits()) {
    throw_domain_error(where, "temperature / base is too small or too large", map.elementwise(1).slope(T(0)),
                       "a quotient well within the normal range");
  }
  const detail::Site site = detail::site_of(where, options);
  std::vector<detail::ParameterSums> sums;
  simulate::detail::with_system(site.workers.device, [&](auto system) {
    using System = decltype(system);
    const typename System::OwnStream stream(options.stream);
    const detail::Input<System, T> q(site, "queries", queries), k(site, "keys", keys), v(site, "values", values),
        g(site, "cotangent", cotangent);
    const detail::Output<System, T> to_q(site, "gradient of the queries", out.queries),
        to_k(site, "gradient of the keys", out.keys), to_v(site, "gradient of the values", out.values);
    const detail::Counts<System> counts(shown, queries.rows, keys.rows);
    // A query that sees no key gets one. Nothing depends on it, because both it and its cotangent are 0.
    const detail::MaskedQueries<System> masked(options, site, queries.rows, keys.rows);
    typename System::template Memory<T> query_memory, cotangent_memory;
    const scoring::MatrixView<const T> shown_queries = masked.with_zeros(q.grid(), query_memory);
    const scoring::MatrixView<const T> shown_cotangent = masked.with_zeros(g.grid(), cotangent_memory);
    sums = detail::attention_gradient_on<System>(map,
                                                 {{shown_queries, k.grid(), v.grid(), {}, counts.keys()},
                                                  shown_cotangent,
                                                  to_q.grid(),
                                                  to_k.grid(),
                                                  to_v.grid(),
                                                  {}},
                                                 site.workers);
    masked.zero(to_q.grid());
    to_q.collect();
    to_k.collect();
    to_v.collect();
    if (options.undefined == Undefined::refuse) {
      detail::require_defined<System, T>(
          site, to_q.grid(), to_q.grid().columns,
          "a value is not finite, or the map is undefined on this query's scores: query");
    }
  });
  const detail::VisibleKeys visible{shown.visibility, from_one.empty() ? nullptr : from_one.data(), queries.rows,
                                    keys.rows};
  return detail::tree_sum(
      [&](std::int64_t i) { return detail::parameter_terms(map, visible(i), sums[static_cast<std::size_t>(i)]); }, 0,
      queries.rows);
}

}  // namespace incontext::apply
