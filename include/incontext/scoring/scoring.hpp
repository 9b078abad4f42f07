#pragma once

#include <concepts>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// The type of the rows that a map reads.
///
/// Runs on   host and device
template <class Map>
using ConstRowOf = Row<const typename Map::value_type>;

/// The type of the rows that a map writes.
///
/// Runs on   host and device
template <class Map>
using RowOf = Row<typename Map::value_type>;

/// A map from one row of scores to one row of weights, with both products of its Jacobian in O(n), in place and without
/// allocation: `weights(map, scores, out)`, `jvp(map, scores, direction, out)`, `vjp(map, scores, cotangent, out)`.
///
/// The functions are found by argument-dependent lookup, so they must be in the map's namespace. The library calls them
/// with a Row<const T> for every row that is read and a Row<T> for the row that is written; T is the map's value_type.
/// They must work in place, where `out` is the scores or the direction. If the map has a function `validate(map)`, the
/// functions that check their arguments on the host call it; it throws if the map is outside its domain. On a GPU the
/// map must be plain data and its functions INCONTEXT_HD.
///
/// Runs on   host and device
template <class Map>
concept Scoring = Real<typename Map::value_type> && std::copyable<Map> &&
                  requires(const Map& map, const ConstRowOf<Map>& in, const RowOf<Map>& out) {
                    { weights(map, in, out) } -> std::same_as<void>;
                    { jvp(map, in, in, out) } -> std::same_as<void>;
                    { vjp(map, in, in, out) } -> std::same_as<void>;
                  };

/// A Scoring whose weights are never negative, so that `log_weights(map, scores, out)` exists.
///
/// Runs on   host and device
template <class Map>
concept LogScoring = Scoring<Map> && requires(const Map& map, const ConstRowOf<Map>& in, const RowOf<Map>& out) {
  { log_weights(map, in, out) } -> std::same_as<void>;
};

/// A Scoring that can be differentiated by a parameter of parameter.hpp: `derivative(map, Parameter{}, scores, out)`.
///
/// Runs on   host and device
template <class Map, class Parameter>
concept HasParameter = Scoring<Map> && requires(const Map& map, const Parameter& parameter, const ConstRowOf<Map>& in,
                                                const RowOf<Map>& out) {
  { derivative(map, parameter, in, out) } -> std::same_as<void>;
};

/// The full Jacobian of a row, column by column through `jvp`.
///
/// \f[ J_{ij} = \frac{\partial a_i}{\partial z_j} \f]
///
/// Source    definition.
/// Shapes    (scores: n, out: n x n), out must not overlap scores.
/// Errors    NaN where the map's jvp is.
/// Accuracy  the map's jvp.
/// Runs on   host and device
template <Scoring Map>
INCONTEXT_HD void jacobian(const Map& map, Row<const typename Map::value_type> scores,
                           MatrixView<typename Map::value_type> out) {
  using T = typename Map::value_type;
  for (std::ptrdiff_t j = 0; j < scores.size; ++j) {
    const Row<T> column = out.column(j);
    detail::fill(column, T(0));
    column[j] = T(1);
    jvp(map, scores, Row<const T>(column), column);
  }
}

/// Which keys a query sees: all, or under a causal mask those up to its own position.
///
/// Runs on   host and device
enum class Visibility { all, causal };

/// Position among the keys of query `query_index` (from 0) of `query_count`.
///
/// \f[ p_i = i + \max(n - q, 0) \quad \text{under a causal mask, else } i \f]
///
/// Under a causal mask fewer queries than keys are the last tokens, as in decoding with a cache of keys.
///
/// Source    definition.
/// Runs on   host and device
INCONTEXT_HD constexpr std::ptrdiff_t query_position(Visibility visibility, std::ptrdiff_t query_index,
                                                     std::ptrdiff_t query_count, std::ptrdiff_t key_count) {
  const bool shifted = visibility == Visibility::causal && query_count < key_count;
  return shifted ? query_index + key_count - query_count : query_index;
}

/// Number of keys that query `query_index` (from 0) of `query_count` sees among `key_count`.
///
/// \f[ n_i = \min(p_i + 1, n) \quad \text{under a causal mask, else } n \f]
///
/// A single query, as in decoding, sees every key. Queries beyond the last key see all keys.
///
/// Source    definition; p_i is query_position.
/// Runs on   host and device
INCONTEXT_HD constexpr std::ptrdiff_t visible_keys(Visibility visibility, std::ptrdiff_t query_index,
                                                   std::ptrdiff_t query_count, std::ptrdiff_t key_count) {
  const std::ptrdiff_t position = query_position(visibility, query_index, query_count, key_count);
  return visibility == Visibility::causal && position + 1 < key_count ? position + 1 : key_count;
}

/// Weights of every row of a matrix of scores, each row by itself; a key that the query does not see has weight 0.
///
/// Source    definition; SSMax takes n from each row, as arXiv 2501.19399 asks.
/// Shapes    (scores: q x n, out: q x n), out may be scores.
/// Errors    NaN rows where the map's weights are.
/// Accuracy  the map's weights.
/// Runs on   host and device
template <Scoring Map>
INCONTEXT_HD void weights_by_row(const Map& map, MatrixView<const typename Map::value_type> scores,
                                 MatrixView<typename Map::value_type> out, Visibility visibility = Visibility::all) {
  using T = typename Map::value_type;
  for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
    const std::ptrdiff_t visible = visible_keys(visibility, i, scores.rows, scores.columns);
    const Row<T> row = out.row(i);
    weights(map, scores.row(i).first(visible), row.first(visible));
    for (std::ptrdiff_t j = visible; j < scores.columns; ++j) row[j] = T(0);
  }
}

}  // namespace incontext::scoring
