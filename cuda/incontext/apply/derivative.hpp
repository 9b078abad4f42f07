#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "incontext/apply/detail/checks.hpp"
#include "incontext/apply/detail/derivative_rows.hpp"
#include "incontext/apply/detail/gradient_readers.hpp"
#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/simulate/engine/memory.hpp"

namespace incontext::apply {

/// Derivative of sum_ij g_ij a_ij by one parameter of the map, for a cotangent g of a whole matrix of weights.
///
/// \f[ \sum_i \sum_{j \le n_i} g_{ij} \frac{\partial a_{ij}}{\partial \theta}, \qquad
///     a_{i \cdot} = \mathrm{map}(z_{i1}, \ldots, z_{i n_i}) \f]
///
/// It is what training needs of a parameter. The rows' sums are added in double in a balanced binary tree over the
/// rows, so the result has the same bits for any number of threads.
///
/// Source    scoring::derivative_along where the map has it, else scoring::derivative, row by row.
/// Shapes    (scores: q x n, cotangent: q x n) -> scalar, any strides; the cotangent of a masked key is not used.
/// Units     those of g . a over the parameter's.
/// Domain    the map's; q, n >= 1.
/// Limits    n = 1 and weights of sum 1: 0.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first row on which the map is undefined, for instance one that is masked
///           throughout. If they may, one such row makes the sum NaN. A parameter the map does not have does not
///           compile.
/// Accuracy  the map's: tests/apply/derivative.cpp.
/// Runs on   serial, OpenMP, TBB, CUDA (sixteen threads per row for Softmax, SSMax and SSA, one for others)
template <scoring::Scoring Map, class Parameter>
detail::RowTerm<typename Map::value_type> derivative(const Map& map, Parameter parameter,
                                                     scoring::MatrixView<const typename Map::value_type> scores,
                                                     scoring::MatrixView<const typename Map::value_type> cotangent,
                                                     const Options& options = {}) {
  using T = typename Map::value_type;
  using Term = detail::RowTerm<T>;
  constexpr auto where = "apply::derivative";
  require_at_least(where, "rows of scores", std::int64_t{scores.rows}, std::int64_t{1});
  require_at_least(where, "columns of scores", std::int64_t{scores.columns}, std::int64_t{1});
  detail::require_shape(where, "scores", scores, scores.rows, scores.columns);
  detail::require_shape(where, "cotangent", cotangent, scores.rows, scores.columns);
  validate(where, options, scores.rows, scores.columns);
  scoring::require_valid(map);
  const detail::Site site = detail::site_of(where, options);
  std::vector<Term> terms;
  simulate::detail::with_system(site.workers.device, [&](auto system) {
    using System = decltype(system);
    const typename System::OwnStream stream(options.stream);
    const auto workers = site.workers;
    constexpr bool is_shared = detail::shares_derivatives<System, Map, Parameter>;
    constexpr bool is_transposed = System::lanes == 1 && !is_shared;
    constexpr detail::Order order = is_transposed ? detail::Order::by_columns : detail::Order::by_rows;
    const detail::Input<System, T> z(site, "scores", scores, order), g(site, "cotangent", cotangent, order);
    const detail::Counts<System> counts(options, site, z.grid());
    const std::int64_t most = System::lanes > 1 ? scores.rows : System::working_numbers() / scores.columns;
    const std::int64_t slot_count =
        std::clamp<std::int64_t>(most, 1, (std::min<std::int64_t>)(scores.rows, System::workers(workers)));
    typename System::template Memory<T> scratch;
    typename System::template Memory<Term> results;
    simulate::detail::make_room(where, scratch, {slot_count, scores.columns, "threads", "the columns"});
    simulate::detail::make_room(where, results, {scores.rows, 1, "rows", "nothing"});
    detail::DifferentiateRows<Map, Parameter> rows{map,
                                                   parameter,
                                                   z.grid(),
                                                   g.grid(),
                                                   counts.keys(),
                                                   slot_count,
                                                   detail::address(scratch),
                                                   is_transposed,
                                                   detail::address(results)};
    typename System::template Memory<std::uint8_t> is_left;
    if constexpr (is_shared) {
      is_left.resize(static_cast<std::size_t>(scores.rows));
      rows.is_left = detail::address(is_left);
      System::for_each_by_half_warps(slot_count, workers, rows);
    }
    System::for_each_index(slot_count, workers, rows);
    terms = simulate::detail::copy_to_host(results, 0, scores.rows);
  });
  for (std::int64_t i = 0; i < scores.rows && options.undefined == Undefined::refuse; ++i) {
    if (std::isnan(terms[static_cast<std::size_t>(i)])) {
      throw_domain_error(where, "the map is undefined on this row of scores: row", i,
                         "finite numbers, where the map is defined; zero_masked_rows for masked rows");
    }
  }
  return detail::tree_sum([&](std::int64_t i) { return terms[static_cast<std::size_t>(i)]; }, 0, scores.rows);
}

}  // namespace incontext::apply
