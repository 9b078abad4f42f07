#pragma once

#include <cstddef>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

/// The functions of the maps with checks on the host: what the maps answer with NaN is refused here with an exception.
/// They accept maps defined elsewhere too, and call their function `validate(map)`, if there is one, to check their
/// parameters.
namespace incontext::scoring {

namespace detail {

/// The place of the first number of a row without a property, or the row's size. Numbers side by side are read in
/// blocks with one branch each, of which compilers make vectors.
template <class T, class Property>
std::ptrdiff_t first_without(Row<T> row, const Property& holds) {
  constexpr std::ptrdiff_t block = sizeof(T) < 256 ? 256 / sizeof(T) : 1;
  std::ptrdiff_t first = 0;
  for (bool all_hold = row.stride == 1; all_hold && first + block <= row.size;) {
    const T* const numbers = row.data + first;
    unsigned others = 0;
    for (std::ptrdiff_t i = 0; i < block; ++i) others |= holds(numbers[i]) ? 0u : 1u;
    all_hold = others == 0;
    if (all_hold) first += block;
  }
  while (first < row.size && holds(row[first])) ++first;
  return first;
}

}  // namespace detail

/// Refuses a row without scores, without a visible score, or with a NaN or +infinity.
///
/// Source    the contract of every map.
/// Shapes    (scores: n)
/// Errors    std::invalid_argument for no visible score, std::domain_error for NaN or +infinity.
template <Real T>
void validate(Row<const T> scores) {
  require_at_least("scoring::validate", "row of scores", scores.size, std::ptrdiff_t{1});
  const T infinity = math::infinity<T>();
  const std::ptrdiff_t bad = detail::first_without(scores, [&](const T& z) { return z < infinity; });
  if (bad < scores.size) {
    throw_domain_error("scoring::validate", "score " + std::to_string(bad) + " is NaN or infinite", scores[bad],
                       "finite, or -infinity for a mask");
  }
  if (-infinity < scores[0]) return;
  const std::ptrdiff_t visible = detail::first_without(scores, [&](const T& z) { return z <= -infinity; });
  require_at_least("scoring::validate", "number of visible scores", std::ptrdiff_t{visible < scores.size ? 1 : 0},
                   std::ptrdiff_t{1});
}

/// Refuses a map outside its domain: calls `validate(map)` from the map's own namespace, if there is one.
///
/// Source    definition.
/// Errors    as validate.
template <class Map>
void require_valid(const Map& map) {
  if constexpr (requires { validate(map); }) validate(map);
}

namespace detail {

// These call the map's own functions from outside `checked`, whose functions of the same names would hide them.
template <Scoring Map>
void call_weights(const Map& map, ConstRowOf<Map> scores, RowOf<Map> out) {
  weights(map, scores, out);
}
template <LogScoring Map>
void call_log_weights(const Map& map, ConstRowOf<Map> scores, RowOf<Map> out) {
  log_weights(map, scores, out);
}
template <Scoring Map>
void call_jvp(const Map& map, ConstRowOf<Map> scores, ConstRowOf<Map> direction, RowOf<Map> out) {
  jvp(map, scores, direction, out);
}
template <Scoring Map>
void call_vjp(const Map& map, ConstRowOf<Map> scores, ConstRowOf<Map> cotangent, RowOf<Map> out) {
  vjp(map, scores, cotangent, out);
}
template <Scoring Map>
void call_vjp_from_weights(const Map& map, ConstRowOf<Map> scores, ConstRowOf<Map> kept, ConstRowOf<Map> cotangent,
                           RowOf<Map> out) {
  if constexpr (requires { vjp_from_weights(map, scores, kept, cotangent, out); }) {
    vjp_from_weights(map, scores, kept, cotangent, out);
  } else {
    vjp(map, scores, cotangent, out);
  }
}
template <class Parameter, class Map>
void call_derivative(const Map& map, const Parameter& parameter, ConstRowOf<Map> scores, RowOf<Map> out) {
  derivative(map, parameter, scores, out);
}

}  // namespace detail

/// The maps' functions with checks: the same names and meaning, with an exception in place of a NaN row.
namespace checked {

namespace detail {

inline void require_sizes(std::ptrdiff_t scores, std::ptrdiff_t in, std::ptrdiff_t out) {
  require_same_size("scoring::checked", "input row", in, scores);
  require_same_size("scoring::checked", "output row", out, scores);
}

template <Scoring Map>
void enter(const Map& map, Row<const typename Map::value_type> scores, std::ptrdiff_t in, std::ptrdiff_t out) {
  require_valid(map);
  validate(scores);
  require_sizes(scores.size, in, out);
}

template <Real T>
void leave(Row<T> out) {
  const T infinity = math::infinity<T>();
  const std::ptrdiff_t bad = scoring::detail::first_without(out, [&](const T& a) { return a <= infinity; });
  if (bad == out.size) return;
  throw_domain_error("scoring::checked", "result is undefined here", out[bad], "a row where the map is defined");
}

}  // namespace detail

/// Weights of one row, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as validate; std::invalid_argument for sizes; std::domain_error where the result is undefined.
template <Scoring Map>
void weights(const Map& map, Row<const typename Map::value_type> scores, Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::detail::call_weights(map, scores, out);
  detail::leave(out);
}

/// Logarithms of the weights, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as weights.
template <LogScoring Map>
void log_weights(const Map& map, Row<const typename Map::value_type> scores, Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::detail::call_log_weights(map, scores, out);
  detail::leave(out);
}

/// Jacobian times a direction, checked.
///
/// Source    the map.
/// Shapes    (scores: n, direction: n, out: n)
/// Errors    as weights.
template <Scoring Map>
void jvp(const Map& map, Row<const typename Map::value_type> scores, Row<const typename Map::value_type> direction,
         Row<typename Map::value_type> out) {
  detail::enter(map, scores, direction.size, out.size);
  scoring::detail::call_jvp(map, scores, direction, out);
  detail::leave(out);
}

/// Transposed Jacobian times a cotangent, checked.
///
/// Source    the map.
/// Shapes    (scores: n, cotangent: n, out: n)
/// Errors    as weights.
template <Scoring Map>
void vjp(const Map& map, Row<const typename Map::value_type> scores, Row<const typename Map::value_type> cotangent,
         Row<typename Map::value_type> out) {
  detail::enter(map, scores, cotangent.size, out.size);
  scoring::detail::call_vjp(map, scores, cotangent, out);
  detail::leave(out);
}

/// Transposed Jacobian times a cotangent, checked, from weights that a forward pass has kept. For a map
/// without `vjp_from_weights` it is vjp.
///
/// The scores are taken as valid: whoever has their weights has validated them, and Softmax need not read them again.
/// A result that is NaN is refused.
///
/// Source    the map.
/// Shapes    (scores: n, kept: n, cotangent: n, out: n), out shares no element with the scores.
/// Errors    std::invalid_argument for sizes; std::domain_error where the result is undefined.
template <Scoring Map>
void vjp_from_weights(const Map& map, Row<const typename Map::value_type> scores,
                      Row<const typename Map::value_type> kept, Row<const typename Map::value_type> cotangent,
                      Row<typename Map::value_type> out) {
  require_valid(map);
  require_at_least("scoring::checked", "row of scores", scores.size, std::ptrdiff_t{1});
  detail::require_sizes(scores.size, cotangent.size, out.size);
  require_same_size("scoring::checked", "row of weights", kept.size, scores.size);
  scoring::detail::call_vjp_from_weights(map, scores, kept, cotangent, out);
  detail::leave(out);
}

/// Derivative with respect to a parameter, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as weights.
template <class Parameter, class Map>
  requires HasParameter<Map, Parameter>
void derivative(const Map& map, Parameter parameter, Row<const typename Map::value_type> scores,
                Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::detail::call_derivative(map, parameter, scores, out);
  detail::leave(out);
}

}  // namespace checked

}  // namespace incontext::scoring
