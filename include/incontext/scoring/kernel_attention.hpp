#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/kernel_pass.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/feature_kernel.hpp"
#include "incontext/scoring/kernel.hpp"
#include "incontext/scoring/row.hpp"

/// Kernel attention of one query over n keys, computed from the vectors themselves. A causal query i is given the first
/// i + 1 keys (MatrixView's first rows). Outputs must not overlap the inputs.
namespace incontext::scoring {

/// Kernel attention: the weight of a key is a kernel of query and key, divided by a normalizer.
///
/// \f[ a_j = \frac{\kappa(q, k_j)}{N}, \qquad N \in \Bigl\{1,\; n,\; \max\bigl(\textstyle\sum_j \kappa(q, k_j),
///     \epsilon\bigr)\Bigr\} \f]
///
/// Exponential kernels divided by their sum are evaluated as softmax of their logarithms; others have a floor epsilon.
///
/// Source    Nadaraya-Watson; arXiv 2006.16236; arXiv 2202.08791 (floor 1e-6).
/// Units     weights dimensionless under the sum, else those of the kernel.
/// Domain    the kernel's; N != 0; floor >= 0, 0 for none.
/// Limits    all kernels together below the floor: weights kappa / floor, zero for a row of zeros.
/// Errors    a row of NaN if there is no key, a kernel is NaN, or N is 0 or infinite.
/// Runs on   host and device
template <class K>
  requires Kernel<K> || PositionalKernel<K>
struct KernelAttention {
  using value_type = typename K::value_type;
  K kernel = K{};
  KernelNormalization normalization = KernelNormalization::sum;
  value_type floor = value_type(0);
};

/// cosFormer attention over sequences of at most `reach` positions, with the floor 1e-6 of its public code.
///
/// Source    arXiv 2202.08791; reach is max(queries, keys) there.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD KernelAttention<CosformerKernel<T>> cosformer(const T& reach) {
  return {{reach}, KernelNormalization::sum, T(1e-6)};
}

/// Weights of one query.
///
/// Source    see KernelAttention.
/// Shapes    (query: d, keys: n x d, out: n), query_index: position of the query, used by positional kernels alone.
/// Accuracy  (16 + 4 d) (1 + max |log a|) eps relative for positive kernels: tests/scoring/kernel_attention.cpp.
/// Runs on   host and device
template <class K>
INCONTEXT_HD void weights(const KernelAttention<K>& map, Row<const typename K::value_type> query,
                          MatrixView<const typename K::value_type> keys, Row<typename K::value_type> out,
                          std::ptrdiff_t query_index = 0) {
  using T = typename K::value_type;
  const detail::KernelPass<K> pass(map, query, keys, query_index);
  for (std::ptrdiff_t j = 0; j < keys.rows; ++j) out[j] = pass.valid() ? pass.weight(j) : math::not_a_number<T>();
}

/// Logarithms of the weights of one query, for exponential kernels under the sum.
///
/// Source    see KernelAttention.
/// Shapes    (query: d, keys: n x d, out: n).
/// Errors    NaN row also for other normalizations.
/// Accuracy  (16 + 4 d) (1 + max |log a|) eps: tests/scoring/kernel_attention.cpp.
/// Runs on   host and device
template <Kernel K>
  requires(K::logarithmic)
INCONTEXT_HD void log_weights(const KernelAttention<K>& map, Row<const typename K::value_type> query,
                              MatrixView<const typename K::value_type> keys, Row<typename K::value_type> out) {
  using std::log;
  using T = typename K::value_type;
  const detail::KernelPass<K> pass(map, query, keys, 0);
  const bool valid = pass.valid() && map.normalization == KernelNormalization::sum;
  const T log_total = log(pass.total());
  for (std::ptrdiff_t j = 0; j < keys.rows; ++j) {
    out[j] = valid ? T(pass.relative(j) - log_total) : math::not_a_number<T>();
  }
}

/// Change of the weights along a change of the query and of the keys, in O(n d).
///
/// \f[ \dot a_j = \frac{\dot\kappa_j - a_j \dot N}{N} \f]
///
/// `query_index` is the position of the query, which kernels that depend on positions use.
///
/// Source    derived: docs/theory/scoring.md#kernel-attention; exponential kernels under the sum as in softmax_of.hpp.
/// Shapes    (query: d, keys: n x d, query_direction: d, key_direction: n x d, out: n).
/// Accuracy  the formula to 25 digits at 50 digits: tests/scoring/kernel_attention_50digits.cpp.
/// Runs on   host and device
template <class K>
INCONTEXT_HD void jvp(const KernelAttention<K>& map, Row<const typename K::value_type> query,
                      MatrixView<const typename K::value_type> keys, Row<const typename K::value_type> query_direction,
                      MatrixView<const typename K::value_type> key_direction, Row<typename K::value_type> out,
                      std::ptrdiff_t query_index = 0) {
  const detail::KernelPass<K> pass(map, query, keys, query_index);
  pass.change(out, [=](const auto& kernel, std::ptrdiff_t j) {
    return kernel.jvp(query, keys.row(j), query_direction, key_direction.row(j));
  });
}

/// Gradient of a linear function of the weights with respect to query and keys, in O(n d).
///
/// \f[ \bar q = \sum_j \bar\kappa_j \frac{\partial \kappa_j}{\partial q}, \quad
///     \bar k_j = \bar\kappa_j \frac{\partial \kappa_j}{\partial k_j}, \quad
///     \bar\kappa_j = \frac{g_j - a \cdot g}{N} \f]
///
/// Source    derived: docs/theory/scoring.md#kernel-attention; a . g is left out where N does not depend on the kernel.
/// Shapes    (query: d, keys: n x d, cotangent: n, query_out: d, key_out: n x d).
/// Accuracy  the formula to 25 digits at 50 digits: tests/scoring/kernel_attention_50digits.cpp.
/// Runs on   host and device
template <class K>
INCONTEXT_HD void vjp(const KernelAttention<K>& map, Row<const typename K::value_type> query,
                      MatrixView<const typename K::value_type> keys, Row<const typename K::value_type> cotangent,
                      Row<typename K::value_type> query_out, MatrixView<typename K::value_type> key_out,
                      std::ptrdiff_t query_index = 0) {
  using T = typename K::value_type;
  const detail::KernelPass<K> pass(map, query, keys, query_index);
  detail::fill(query_out, pass.valid() ? T(0) : math::not_a_number<T>());
  detail::fill(key_out, pass.valid() ? T(0) : math::not_a_number<T>());
  if (!pass.valid()) return;
  const bool moves = pass.normalizer_moves();
  const auto change = pass.center([=](std::ptrdiff_t j) -> T { return cotangent[j]; });
  for (std::ptrdiff_t j = 0; j < keys.rows; ++j) {
    const T by_weight = moves ? change(j) : cotangent[j];
    pass.kernel(j).vjp(query, keys.row(j), T(pass.sensitivity(j) * by_weight), query_out, key_out.row(j));
  }
}

/// Derivative of the weights with respect to a parameter of the kernel.
///
/// Source    derived: docs/theory/scoring.md#kernel-attention.
/// Shapes    (query: d, keys: n x d, out: n).
/// Errors    a parameter the kernel does not have does not compile.
/// Accuracy  the formula to 25 digits at 50 digits: tests/scoring/kernel_attention_50digits.cpp.
/// Runs on   host and device
template <Kernel K, class Parameter>
INCONTEXT_HD auto derivative(const KernelAttention<K>& map, Parameter parameter,
                             Row<const typename K::value_type> query, MatrixView<const typename K::value_type> keys,
                             Row<typename K::value_type> out)
    -> decltype(void(map.kernel.derivative(parameter, query, query))) {
  const detail::KernelPass<K> pass(map, query, keys, 0);
  pass.change(out,
              [=](const auto& kernel, std::ptrdiff_t j) { return kernel.derivative(parameter, query, keys.row(j)); });
}

}  // namespace incontext::scoring
