#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/kernel.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/score_function.hpp"

/// Kernels that are products of features of the query and the key, so that attention costs O(L d dv) and never forms
/// the matrix of weights: `attend` in feature_attention.hpp.
namespace incontext::scoring {

namespace detail {

template <class F, class T>
concept Features = requires(const F& features, const Row<const T>& in, const std::ptrdiff_t& component) {
  { features(in, component) } -> std::same_as<T>;
};

}  // namespace detail

/// A kernel, positional or not, that equals sum_c query_features(i)(q, c) key_features(j)(k, c), c < feature_count(d).
///
/// Source    arXiv 2006.16236.
/// Runs on   host and device
template <class K>
concept FeatureKernel = (Kernel<K> || PositionalKernel<K>)&&requires(const K& kernel, const std::ptrdiff_t& index) {
  { kernel.feature_count(index) } -> std::same_as<std::ptrdiff_t>;
  { kernel.query_features(index) } -> detail::Features<typename K::value_type>;
  { kernel.key_features(index) } -> detail::Features<typename K::value_type>;
};

/// A factor times the inner product of query and key after one function f of every component.
///
/// \f[ \kappa(q, k) = \gamma \sum_c f(q_c) f(k_c) \f]
///
/// Source    arXiv 2006.16236.
/// Shapes    (query: d, key: d) -> scalar
/// Units     those of f^2.
/// Domain    any finite factor. At a kink of f its own slope() is used.
/// Runs on   host and device
template <class Function, Real T = double>
struct ComponentKernel {
  using value_type = T;
  static constexpr bool logarithmic = false;
  T factor = T(1);

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const {
    detail::Sum<T> sum;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) sum.add(Function::value(q[c]) * Function::value(k[c]));
    return factor * sum.value();
  }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    detail::Sum<T> sum;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      sum.add(Function::slope(q[c]) * dq[c] * Function::value(k[c]));
      sum.add(Function::value(q[c]) * Function::slope(k[c]) * dk[c]);
    }
    return factor * sum.value();
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      out_q[c] = out_q[c] + weight * factor * Function::slope(q[c]) * Function::value(k[c]);
      out_k[c] = out_k[c] + weight * factor * Function::value(q[c]) * Function::slope(k[c]);
    }
  }
};

/// The kernel of linear transformers, features elu(x) + 1.
///
/// \f[ \kappa(q, k) = \sum_c (\mathrm{elu}(q_c) + 1)(\mathrm{elu}(k_c) + 1) \f]
///
/// Source    arXiv 2006.16236.
/// Shapes    (query: d, key: d) -> scalar
/// Domain    everywhere; positive.
/// Runs on   host and device
template <Real T = double>
struct EluKernel {
  using value_type = T;
  static constexpr bool logarithmic = false;

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const { return product().score(q, k); }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    return product().jvp(q, k, dq, dk);
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    product().vjp(q, k, weight, out_q, out_k);
  }

  /// The features of a token, by index.
  struct Features {
    INCONTEXT_HD T operator()(Row<const T> x, std::ptrdiff_t c) const { return EluPlusOne::value(x[c]); }
  };
  INCONTEXT_HD std::ptrdiff_t feature_count(std::ptrdiff_t dimension) const { return dimension; }
  INCONTEXT_HD Features query_features(std::ptrdiff_t) const { return {}; }
  INCONTEXT_HD Features key_features(std::ptrdiff_t) const { return {}; }

 private:
  INCONTEXT_HD ComponentKernel<EluPlusOne, T> product() const { return {}; }
};

/// The kernel of cosFormer: rectified components, and a cosine of the distance of the positions.
///
/// \f[ \kappa_{ij}(q, k) = \cos\frac{\pi (i - j)}{2 m} \sum_c \max(q_c, 0) \max(k_c, 0) \f]
///
/// Source    arXiv 2202.08791, its public code; compared in arXiv 2508.14685.
/// Shapes    (query: d, key: d) -> scalar
/// Units     reach m in positions, the longer of the two sequences.
/// Domain    reach > 0; non-negative while |i - j| <= reach.
/// Runs on   host and device
template <Real T = double>
struct CosformerKernel {
  using value_type = T;
  T reach = T(1);

  INCONTEXT_HD ComponentKernel<Relu, T> at(std::ptrdiff_t query_index, std::ptrdiff_t key_index) const {
    using std::cos;
    return {T(cos(angle(query_index - key_index)))};
  }

  /// First d components times the sine, last d times the cosine of the position.
  struct Features {
    T sine;
    T cosine;
    INCONTEXT_HD T operator()(Row<const T> x, std::ptrdiff_t c) const {
      return c < x.size ? T(sine * Relu::value(x[c])) : T(cosine * Relu::value(x[c - x.size]));
    }
  };
  INCONTEXT_HD std::ptrdiff_t feature_count(std::ptrdiff_t dimension) const { return 2 * dimension; }
  INCONTEXT_HD Features query_features(std::ptrdiff_t index) const {
    using std::cos;
    using std::sin;
    const T phase = angle(index);
    return {T(sin(phase)), T(cos(phase))};
  }
  INCONTEXT_HD Features key_features(std::ptrdiff_t index) const { return query_features(index); }

 private:
  INCONTEXT_HD T angle(std::ptrdiff_t offset) const {
    return detail::divide_positive(T(math::pi<T>() / T(2) * math::from_count<T>(offset)), reach);
  }
};

}  // namespace incontext::scoring
