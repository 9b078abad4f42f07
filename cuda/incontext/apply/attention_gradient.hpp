#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "incontext/apply/attention.hpp"
#include "incontext/apply/detail/attend.hpp"
#include "incontext/apply/detail/gradient_problem.hpp"
#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/key_gradient_batch.hpp"
#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/query_gradient_batch.hpp"
#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/apply/options.hpp"
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
  run_batches<System>(QueryGradientBatch<Reader, Team>{reader, all}, queries, workers);
  run_batches<System>(KeyGradientBatch<Reader, Team>{reader, all}, all.problem.keys.rows, workers);
  std::vector<ParameterSums> sums;
  const std::vector<T> host = simulate::detail::copy_home(memory, 4 * queries, 2 * queries);
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
/// No matrix of weights is formed: the forward pass is repeated by blocks, six numbers of each query are kept, and the
/// weights are computed again from the scores, once for the queries and once for the keys. Every query's and every
/// key's sums have one order, so nothing depends on the number of threads. The derivatives by the parameters are
/// returned as a map: each is in the member of the parameter's name, summed over the queries in a balanced tree.
///
/// Source    derived: docs/theory/scoring.md#softmax-of-a-map, by blocks as in arXiv 2205.14135.
/// Shapes    (queries: q x d, keys: n x d, values: n x dv, cotangent: q x dv, out: as queries, keys and values)
/// Units     those of cotangent times values over those of what is differentiated by.
/// Domain    the map's; for SSA, temperature / base between 64 times the least normal number and its inverse.
/// Limits    n = 1, or keys that a causal mask hides from every query: gradients 0 by queries and keys.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first query whose gradient is NaN; the gradients are written all the same.
/// Accuracy  sums in blocks of 64 keys or queries: 256 eps times the same sums of |a| (|g . v| + |a . g v|) with
///           absolute values, on the layers of tests/apply/attention_gradient.cpp.
/// Runs on   serial, OpenMP, TBB, CUDA (one block per 32 queries or keys, from and to host memory)
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
  scoring::require_valid(map);
  const typename detail::ReaderOf<Map>::type reader{map};
  if (!reader.fits()) {
    throw_domain_error(where, "temperature / base is too small or too large", map.elementwise(1).slope(T(0)),
                       "a quotient well within the normal range");
  }
  std::vector<detail::ParameterSums> sums;
  simulate::detail::with_system(simulate::resolve(options.device, options.gpu), [&](auto system) {
    using System = decltype(system);
    const detail::Input<System, T> q(queries), k(keys), v(values), g(cotangent);
    const detail::Output<System, T> to_q(out.queries), to_k(out.keys), to_v(out.values);
    const detail::Counts<System> counts(options, keys.rows);
    sums = detail::attention_gradient_on<System>(
        map, {{q.grid(), k.grid(), v.grid(), {}, counts.keys()}, g.grid(), to_q.grid(), to_k.grid(), to_v.grid(), {}},
        simulate::detail::workers_of(options));
    to_q.collect();
    to_k.collect();
    to_v.collect();
  });
  if (options.undefined == Undefined::refuse) {
    detail::require_defined<T>(where, out.queries, out.queries.columns,
                               "a value is not finite, or the map is undefined on this query's scores: query");
  }
  const detail::VisibleKeys seen{options.visibility,
                                 options.visible_counts.empty() ? nullptr : options.visible_counts.data(), keys.rows};
  return detail::tree_sum(
      [&](std::int64_t i) { return detail::parameter_terms(map, seen(i), sums[static_cast<std::size_t>(i)]); }, 0,
      queries.rows);
}

}  // namespace incontext::apply
