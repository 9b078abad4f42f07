#pragma once

#include <cstdint>

#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/team.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

/// The backward pass of attention, the formulas of apply::attention_gradient, by blocks of keys and queries as in
/// arXiv 2205.14135. It has two kinds of batches. QueryGradientBatch goes over the keys twice: first it computes the
/// normalizer of each of its queries and the mean of the gradients by the weights, then the queries' gradients.
/// KeyGradientBatch goes over all queries and reads the six numbers that were kept of each. Both compute the weights
/// again from the scores, so that memory is O(queries) and no matrix of weights is held.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// What is kept of the queries: every member is an array with a number per query.
///
/// The weight of key j is \f$ a_j = 2^{r \sigma(z_j) - m} / Z \f$ where \f$ \sigma \f$ is the reader's shape, r the
/// rate, m the reference and 1/Z the inverse sum. The gradient by that weight is \f$ g \cdot v_j \f$, with the
/// cotangent g of the query's output.
template <class T>
struct QueryNumbers {
  T* rate;         // r: phi(z) log2(e) = r shape(z)
  T* reference;    // m: the largest r shape(z_j)
  T* inverse_sum;  // 1 / Z, Z the sum of 2^(r shape(z_j) - m)
  T* mean;         // sum_j a_j (g . v_j)
  T* by_shape;     // ParameterSums::shape
  T* by_other;     // ParameterSums::other
};

/// The matrices of a layer and the matrices of its gradients, in memory that the system can read. Plain data;
/// problem.out is not used.
template <class T>
struct GradientProblem {
  Problem<T> problem;
  MatrixView<const T> cotangent;  // g: a row per query
  MatrixView<T> to_queries;
  MatrixView<T> to_keys;
  MatrixView<T> to_values;
  QueryNumbers<T> kept;
};

/// The weights \f$ 2^{r \sigma(z) - m} / Z \f$ in a pack: of one key for several queries, or of several keys for one.
template <class T>
INCONTEXT_HD inline Pack<T> weight_of(const Pack<T>& shape, const Pack<T>& rate, const Pack<T>& reference,
                                      const Pack<T>& inverse_sum) {
  const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
  const Pack<T> octaves = shape * rate - reference;
  return elementary::exp2_of<T>(octaves < lowest ? lowest : octaves) * inverse_sum;
}

/// Writes the rows of a matrix whose columns are in `sums`: component c of the row in lane l is sums[c * lanes + l].
template <class Team, class T>
INCONTEXT_HD void write_lanes(const Team& team, MatrixView<T> out, std::int64_t first, const T* sums) {
  const std::int64_t left = out.rows - first;
  team.for_each(left < Team::lanes ? left : Team::lanes, out.columns,
                [&](std::int64_t l, std::int64_t c) { out(first + l, c) = sums[c * Team::lanes + l]; });
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
