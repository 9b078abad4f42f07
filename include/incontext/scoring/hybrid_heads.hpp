#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::scoring {

/// A layer whose heads use different maps: a list of maps, one per head; row h of a matrix belongs to head h.
///
/// \f[ a_{h \cdot} = \mathrm{map}_h(z_{h \cdot}) \f]
///
/// The layer's output is the heads' outputs side by side, as it is with equal heads. The maps may be of different types
/// but have the same scalar.
///
/// Source    arXiv 2508.14685 sec. 6: half softmax, half average; two each of tanh, average, ReLU and square.
/// Units     each map's.
/// Domain    each map's.
/// Errors    each map's, row by row.
/// Runs on   host and device
template <Scoring First, Scoring... Rest>
  requires(std::is_same_v<typename First::value_type, typename Rest::value_type> && ...)
struct HybridHeads {
  using value_type = typename First::value_type;
  static constexpr std::ptrdiff_t count = 1 + static_cast<std::ptrdiff_t>(sizeof...(Rest));

  First first;
  HybridHeads<Rest...> rest;
};

/// One head, which ends the recursion.
template <Scoring Only>
struct HybridHeads<Only> {
  using value_type = typename Only::value_type;
  static constexpr std::ptrdiff_t count = 1;

  Only first;
};

/// The list of maps as one object.
///
/// Source    definition.
/// Shapes    maps, one per head, in the order of the heads.
/// Runs on   host and device
template <Scoring First, Scoring... Rest>
INCONTEXT_HD constexpr HybridHeads<First, Rest...> hybrid_heads(const First& first, const Rest&... rest) {
  if constexpr (sizeof...(Rest) == 0) {
    return {first};
  } else {
    return {first, hybrid_heads(rest...)};
  }
}

namespace detail {

/// Calls visit(map, head) for every head.
template <class Visit, Scoring First, Scoring... Rest>
INCONTEXT_HD void for_each_head(const HybridHeads<First, Rest...>& heads, std::ptrdiff_t head, Visit visit) {
  visit(heads.first, head);
  if constexpr (sizeof...(Rest) > 0) for_each_head(heads.rest, head + 1, visit);
}

}  // namespace detail

/// Weights of every head.
///
/// Source    see HybridHeads.
/// Shapes    (scores: h x n, out: h x n), out may be scores.
/// Accuracy  each map's.
/// Runs on   host and device
template <Scoring... Maps>
INCONTEXT_HD void weights(const HybridHeads<Maps...>& heads,
                          MatrixView<const typename HybridHeads<Maps...>::value_type> scores,
                          MatrixView<typename HybridHeads<Maps...>::value_type> out) {
  detail::for_each_head(heads, 0, [=](const auto& map, std::ptrdiff_t h) { weights(map, scores.row(h), out.row(h)); });
}

/// Jacobian times a direction, head by head, in O(h n).
///
/// Source    see HybridHeads.
/// Shapes    (scores: h x n, direction: h x n, out: h x n), out may be scores or direction.
/// Accuracy  each map's.
/// Runs on   host and device
template <Scoring... Maps>
INCONTEXT_HD void jvp(const HybridHeads<Maps...>& heads,
                      MatrixView<const typename HybridHeads<Maps...>::value_type> scores,
                      MatrixView<const typename HybridHeads<Maps...>::value_type> direction,
                      MatrixView<typename HybridHeads<Maps...>::value_type> out) {
  detail::for_each_head(
      heads, 0, [=](const auto& map, std::ptrdiff_t h) { jvp(map, scores.row(h), direction.row(h), out.row(h)); });
}

/// Transposed Jacobian times a cotangent, head by head, in O(h n).
///
/// Source    see HybridHeads.
/// Shapes    (scores: h x n, cotangent: h x n, out: h x n), out may be scores or cotangent.
/// Accuracy  each map's.
/// Runs on   host and device
template <Scoring... Maps>
INCONTEXT_HD void vjp(const HybridHeads<Maps...>& heads,
                      MatrixView<const typename HybridHeads<Maps...>::value_type> scores,
                      MatrixView<const typename HybridHeads<Maps...>::value_type> cotangent,
                      MatrixView<typename HybridHeads<Maps...>::value_type> out) {
  detail::for_each_head(
      heads, 0, [=](const auto& map, std::ptrdiff_t h) { vjp(map, scores.row(h), cotangent.row(h), out.row(h)); });
}

}  // namespace incontext::scoring
