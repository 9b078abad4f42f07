#pragma once

#include <cstdint>
#include <vector>

#include "incontext/apply/detail/attend.hpp"
#include "incontext/apply/detail/checks.hpp"
#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/simulate/engine/memory.hpp"

namespace incontext::apply {

/// Outputs of one layer of attention, without the matrix of weights.
///
/// \f[ o_i = \sum_{j \le n_i} a_{ij} v_j, \qquad
///     a_{i \cdot} = \mathrm{map}(q_i \cdot k_1, \ldots, q_i \cdot k_{n_i}) \f]
///
/// The keys are read in blocks, each for a batch of queries. Softmax, SSMax and SSA are computed with a running maximum
/// (online softmax), LinearAttention and RatioScore with running sums, in memory of O(threads (d + dv)). For any other
/// map, and any scalar but float and double, each query's whole row of scores is formed, in memory of O(threads n).
///
/// Source    definition; the running maximum: arXiv 1805.02867. The temperature, often sqrt(d), is the map's.
/// Shapes    (queries: q x d, keys: n x d, values: n x dv, out: q x dv), any strides; out shares no element with them.
/// Units     those of the values, times those of the weights.
/// Domain    the map's; q, n, d, dv >= 1.
/// Limits    n = 1: the map of one score times the value.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first query with an output that is NaN; out is written all the same.
/// Accuracy  sums over d, and over keys in blocks of 64, to which products are added unrounded: 256 eps times
///           sum_j |a_j v_j| on the layers of tests/apply/attention.cpp (d <= 17, n <= 400, for softmax 20000). A score
///           has an error of up to d eps sum_c |q_c k_c|, which changes its weight. Queries get the same bits on every
///           CPU system and for any number of threads. With the flags of the simulate targets, Softmax of float and
///           double has the same bits on x86-64 with and without fused multiply-add and on ARM
///           (tests/maps/bits_program.cpp). Without that instruction attention takes many times as long.
/// Runs on   serial, OpenMP, TBB, CUDA (one block per 32 queries)
template <scoring::Scoring Map>
void attend(const Map& map, scoring::MatrixView<const typename Map::value_type> queries,
            scoring::MatrixView<const typename Map::value_type> keys,
            scoring::MatrixView<const typename Map::value_type> values,
            scoring::MatrixView<typename Map::value_type> out, const Options& options = {}) {
  using T = typename Map::value_type;
  constexpr auto where = "apply::attend";
  detail::require_layer<T>(where, queries, keys, values);
  detail::require_shape(where, "out", out, queries.rows, values.columns);
  detail::require_separate_elements(where, out);
  for (const auto& in : {queries, keys, values}) {
    if (detail::overlaps<T>(in, out)) {
      throw_invalid_argument(where, "out shares elements with an input: offset of the data",
                             static_cast<std::int64_t>(out.data - in.data), "memory of its own");
    }
  }
  validate(where, options, queries.rows, keys.rows);
  const std::vector<std::int64_t> from_one = detail::counts_from_one(options);
  Options shown = options;
  shown.visible_counts = from_one;
  scoring::require_valid(map);
  const detail::Site site = detail::site_of(where, options);
  simulate::detail::with_system(site.workers.device, [&](auto system) {
    using System = decltype(system);
    const typename System::OwnStream stream(options.stream);
    const detail::Input<System, T> q(site, "queries", queries), k(site, "keys", keys), v(site, "values", values);
    const detail::Output<System, T> written(site, "out", out);
    const detail::Counts<System> counts(shown, queries.rows, keys.rows);
    const detail::MaskedQueries<System> masked(options, site, queries.rows, keys.rows);
    detail::attend_on<System>(map, detail::Problem<T>{q.grid(), k.grid(), v.grid(), written.grid(), counts.keys()},
                              site.workers);
    masked.zero(written.grid());
    written.collect();
    if (options.undefined == Undefined::refuse) {
      detail::require_defined<System, T>(
          site, written.grid(), out.columns,
          "a value is not finite, or the map is undefined on this query's scores: query");
    }
  });
}

}  // namespace incontext::apply
