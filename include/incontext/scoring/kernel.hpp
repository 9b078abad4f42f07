#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"

/// Kernels of kernel attention. Each is plain data with the same members:
///   score(q, k)                    the kernel, or its logarithm where `logarithmic` is true
///   jvp(q, k, dq, dk)              change of the score along a change of query and key
///   vjp(q, k, weight, out_q, out_k)    adds weight * gradient of the score to both
///   derivative(parameter, q, k)    change of the score with a parameter of the kernel
/// A kernel outside its domain gives NaN. All of them run on host and device.
namespace incontext::scoring {

namespace detail {

template <Real T>
INCONTEXT_HD void add_multiple(Row<T> out, const T& factor, Row<const T> a) {
  for (std::ptrdiff_t c = 0; c < a.size; ++c) out[c] = out[c] + factor * a[c];
}

template <Real T>
INCONTEXT_HD T divide_positive(const T& x, const T& by) {
  return T(0) < by ? T(x / by) : math::not_a_number<T>();
}

}  // namespace detail

/// What kernel attention requires of a kernel of a query and a key; `logarithmic` must be a constant expression.
///
/// Source    definition; the members are described at the top of this file.
/// Runs on   host and device
template <class K>
concept Kernel = Real<typename K::value_type> && std::copyable<K> &&
                 requires(const K& kernel, const Row<const typename K::value_type>& in,
                          const Row<typename K::value_type>& out, const typename K::value_type& weight) {
                   typename std::bool_constant<K::logarithmic>;
                   { kernel.score(in, in) } -> std::same_as<typename K::value_type>;
                   { kernel.jvp(in, in, in, in) } -> std::same_as<typename K::value_type>;
                   { kernel.vjp(in, in, weight, out, out) } -> std::same_as<void>;
                 };

/// A kernel that also depends on the positions of query and key: `kernel.at(i, j)` is the kernel for these positions.
///
/// Source    definition.
/// Runs on   host and device
template <class K>
concept PositionalKernel =
    Real<typename K::value_type> && std::copyable<K> && requires(const K& kernel, const std::ptrdiff_t& position) {
      { kernel.at(position, position) } -> Kernel;
      requires std::same_as<typename decltype(kernel.at(position, position))::value_type, typename K::value_type>;
    };

/// The product itself, q . k / tau: linear attention.
///
/// Source    standard linear attention.
/// Shapes    (query: d, key: d) -> scalar
/// Units     temperature in units of q . k.
/// Domain    temperature > 0.
/// Runs on   host and device
template <Real T = double>
struct DotKernel {
  using value_type = T;
  static constexpr bool logarithmic = false;
  T temperature = T(1);

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const {
    return detail::divide_positive(detail::dot(q, k), temperature);
  }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    return detail::divide_positive(T(detail::dot(dq, k) + detail::dot(q, dk)), temperature);
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    const T factor = detail::divide_positive(weight, temperature);
    detail::add_multiple(out_q, factor, k);
    detail::add_multiple(out_k, factor, q);
  }
  INCONTEXT_HD T derivative(parameter::Temperature, Row<const T> q, Row<const T> k) const {
    return -score(q, k) / temperature;
  }

  /// The components, over tau on the query's side: what `attend` needs to avoid the matrix of weights.
  struct Features {
    T divisor;
    INCONTEXT_HD T operator()(Row<const T> x, std::ptrdiff_t c) const { return detail::divide_positive(x[c], divisor); }
  };
  INCONTEXT_HD std::ptrdiff_t feature_count(std::ptrdiff_t dimension) const { return dimension; }
  INCONTEXT_HD Features query_features(std::ptrdiff_t) const { return {temperature}; }
  INCONTEXT_HD Features key_features(std::ptrdiff_t) const { return {T(1)}; }
};

/// exp(q . k / tau), given by its logarithm; with the sum as normalizer this is softmax attention.
///
/// Source    arXiv 2310.12956 eq. 1, read as a kernel.
/// Shapes    (query: d, key: d) -> scalar
/// Units     temperature in units of q . k.
/// Domain    temperature > 0.
/// Runs on   host and device
template <Real T = double>
struct ExponentialKernel {
  using value_type = T;
  static constexpr bool logarithmic = true;
  T temperature = T(1);

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const { return product().score(q, k); }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    return product().jvp(q, k, dq, dk);
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    product().vjp(q, k, weight, out_q, out_k);
  }
  INCONTEXT_HD T derivative(parameter::Temperature name, Row<const T> q, Row<const T> k) const {
    return product().derivative(name, q, k);
  }

 private:
  INCONTEXT_HD DotKernel<T> product() const { return {temperature}; }
};

/// exp(-|q - k|^2 / (2 h^2)), given by its logarithm; with the sum as normalizer it is softmax over q . k - |k|^2 / 2.
///
/// Source    Nadaraya-Watson regression with a Gaussian kernel.
/// Shapes    (query: d, key: d) -> scalar
/// Units     bandwidth in units of the keys.
/// Domain    bandwidth > 0.
/// Runs on   host and device
template <Real T = double>
struct GaussianKernel {
  using value_type = T;
  static constexpr bool logarithmic = true;
  T bandwidth = T(1);

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const {
    detail::Sum<T> sum;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      const T step = detail::divide_positive(T(q[c] - k[c]), bandwidth);
      sum.add(step * step);
    }
    return -sum.value() / T(2);
  }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    detail::Sum<T> sum;
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      const T step = detail::divide_positive(T(q[c] - k[c]), bandwidth);
      sum.add(step * (dq[c] - dk[c]));
    }
    return -detail::divide_positive(sum.value(), bandwidth);
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    for (std::ptrdiff_t c = 0; c < q.size; ++c) {
      const T step = detail::divide_positive(T(q[c] - k[c]), bandwidth);
      const T change = weight * detail::divide_positive(step, bandwidth);
      out_q[c] = out_q[c] - change;
      out_k[c] = out_k[c] + change;
    }
  }
  INCONTEXT_HD T derivative(parameter::Bandwidth, Row<const T> q, Row<const T> k) const {
    return T(-2) * score(q, k) / bandwidth;
  }
};

/// (scale q . k + offset)^degree.
///
/// Source    the polynomial kernel.
/// Shapes    (query: d, key: d) -> scalar
/// Units     scale in one over the units of q . k.
/// Domain    degree >= 1; an odd degree can be negative.
/// Runs on   host and device
template <Real T = double>
struct PolynomialKernel {
  using value_type = T;
  static constexpr bool logarithmic = false;
  int degree = 2;
  T scale = T(1);
  T offset = T(1);

  INCONTEXT_HD T score(Row<const T> q, Row<const T> k) const {
    return degree < 1 ? math::not_a_number<T>() : power(base(q, k), degree);
  }
  INCONTEXT_HD T jvp(Row<const T> q, Row<const T> k, Row<const T> dq, Row<const T> dk) const {
    return slope(q, k) * scale * (detail::dot(dq, k) + detail::dot(q, dk));
  }
  INCONTEXT_HD void vjp(Row<const T> q, Row<const T> k, const T& weight, Row<T> out_q, Row<T> out_k) const {
    const T factor = weight * slope(q, k) * scale;
    detail::add_multiple(out_q, factor, k);
    detail::add_multiple(out_k, factor, q);
  }
  INCONTEXT_HD T derivative(parameter::Scale, Row<const T> q, Row<const T> k) const {
    return slope(q, k) * detail::dot(q, k);
  }
  INCONTEXT_HD T derivative(parameter::Offset, Row<const T> q, Row<const T> k) const { return slope(q, k); }

 private:
  INCONTEXT_HD T base(Row<const T> q, Row<const T> k) const { return scale * detail::dot(q, k) + offset; }
  INCONTEXT_HD T slope(Row<const T> q, Row<const T> k) const {
    if (degree < 1) return math::not_a_number<T>();
    return math::from_count<T>(degree) * power(base(q, k), degree - 1);
  }
  INCONTEXT_HD static T power(const T& x, int exponent) {
    T result = T(1);
    for (int i = 0; i < exponent; ++i) result = result * x;
    return result;
  }
};

}  // namespace incontext::scoring
