#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/feature_kernel.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::scoring {

namespace detail {

/// state_c += feature_c(k) (v, 1): the last column collects the normalizer.
template <class Features, Real T>
INCONTEXT_HD void absorb(MatrixView<T> state, const Features& features, Row<const T> key, Row<const T> value) {
  for (std::ptrdiff_t c = 0; c < state.rows; ++c) {
    const T feature = features(key, c);
    for (std::ptrdiff_t e = 0; e < value.size; ++e) state(c, e) = state(c, e) + feature * value[e];
    state(c, value.size) = state(c, value.size) + feature;
  }
}

}  // namespace detail

/// The scratch matrix of `attend`: a view of feature_count(d) * (dv + 1) numbers that the caller owns.
///
/// Source    derived: docs/theory/scoring.md#kernel-attention.
/// Shapes    (dimension d, value dimension dv) -> features x (dv + 1)
/// Runs on   host and device
template <FeatureKernel K>
INCONTEXT_HD MatrixView<typename K::value_type> attend_state(const KernelAttention<K>& map,
                                                             typename K::value_type* scratch, std::ptrdiff_t dimension,
                                                             std::ptrdiff_t value_dimension) {
  return {scratch, map.kernel.feature_count(dimension), value_dimension + 1};
}

/// Outputs of attention with a feature kernel, without the matrix of weights, in O((q + n) features dv).
///
/// \f[ o_i = \frac{\phi(q_i)^T S_i}{N_i}, \qquad S_i = \sum_{j \;\text{visible to}\; i} \phi(k_j) v_j^T \f]
///
/// Source    arXiv 2006.16236; arXiv 2202.08791. Under a causal mask S_i is a running sum.
/// Shapes    (queries: q x d, keys: n x d, values: n x dv, out: q x dv, state: features x (dv + 1), overwritten); none
///           of them may overlap.
/// Units     of the values, times those of the weights.
/// Domain    the kernel's; N != 0.
/// Limits    a row of kernels that are all 0, under a floor: zero output.
/// Errors    NaN row where N is 0, NaN or infinite.
/// Accuracy  plain sums, so errors grow like (n + features) eps: tests/scoring/feature_attention.cpp, to 1e-12.
/// Runs on   host and device
template <FeatureKernel K>
INCONTEXT_HD void attend(const KernelAttention<K>& map, MatrixView<const typename K::value_type> queries,
                         MatrixView<const typename K::value_type> keys, MatrixView<const typename K::value_type> values,
                         MatrixView<typename K::value_type> out, MatrixView<typename K::value_type> state,
                         Visibility visibility = Visibility::all) {
  using T = typename K::value_type;
  detail::fill(state, T(0));
  std::ptrdiff_t seen = 0;
  for (std::ptrdiff_t i = 0; i < queries.rows; ++i) {
    for (const std::ptrdiff_t end = visible_keys(visibility, i, queries.rows, keys.rows); seen < end; ++seen) {
      detail::absorb(state, map.kernel.key_features(seen), keys.row(seen), values.row(seen));
    }
    const auto features = map.kernel.query_features(query_position(visibility, i, queries.rows, keys.rows));
    const Row<T> row = out.row(i);
    detail::fill(row, T(0));
    T total = T(0);
    for (std::ptrdiff_t c = 0; c < state.rows; ++c) {
      const T feature = features(queries.row(i), c);
      for (std::ptrdiff_t e = 0; e < row.size; ++e) row[e] = row[e] + feature * state(c, e);
      total = total + feature * state(c, row.size);
    }
    if (map.normalization == KernelNormalization::sum) {
      if (T(0) < map.floor && total < map.floor) total = map.floor;
    } else {
      total = map.normalization == KernelNormalization::none ? T(1) : math::from_count<T>(seen);
    }
    const bool valid = math::is_finite(total) && (total < T(0) || T(0) < total);
    for (std::ptrdiff_t e = 0; e < row.size; ++e) row[e] = valid ? T(row[e] / total) : math::not_a_number<T>();
  }
}

/// Linear attention as kernel attention whose kernel is the product q . k itself.
///
/// Source    definition.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD KernelAttention<DotKernel<T>> as_kernel_attention(const LinearAttention<T>& map) {
  return {
      {map.temperature},
      map.normalization == LinearNormalization::none ? KernelNormalization::none : KernelNormalization::context_length};
}

}  // namespace incontext::scoring
