#pragma once

#include <cstdint>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
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

/// The rows of a matrix that lie in the lanes.
template <class Team, class T>
INCONTEXT_HD void write_lanes(const Team& team, MatrixView<T> out, std::int64_t first, const T* sums) {
  const std::int64_t left = out.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, out.columns,
                [&](std::int64_t l, std::int64_t c) { out(first + l, c) = sums[c * Team::lanes + l]; });
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
