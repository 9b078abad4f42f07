#pragma once

#include <vector>

#include "incontext/scoring/kernel_attention.hpp"
#include "scoring/rows.hpp"

/// A random query with keys, and every kernel under every normalization.
namespace incontext::testing {

template <class T>
struct Vectors {
  std::vector<T> query_data, key_data;
  scoring::Row<const T> query;
  scoring::MatrixView<const T> keys;

  Vectors(Random& random, std::ptrdiff_t count, std::ptrdiff_t dimension, double size)
      : query_data(converted<T>(random.normals(static_cast<std::size_t>(dimension), size))),
        key_data(converted<T>(random.normals(static_cast<std::size_t>(count * dimension), size))),
        query(query_data),
        keys(key_data.data(), count, dimension) {}
  template <class U>
  explicit Vectors(const Vectors<U>& other)
      : query_data(converted<T>(other.query_data)),
        key_data(converted<T>(other.key_data)),
        query(query_data),
        keys(key_data.data(), other.keys.rows, other.keys.columns) {}
  Vectors(const Vectors& other) : Vectors(other, 0) {}

  /// This point moved along `direction`.
  Vectors moved(const Vectors& direction, const T& by) const {
    Vectors result(*this);
    for (std::size_t i = 0; i < query_data.size(); ++i) result.query_data[i] += by * direction.query_data[i];
    for (std::size_t i = 0; i < key_data.size(); ++i) result.key_data[i] += by * direction.key_data[i];
    return result;
  }

 private:
  Vectors(const Vectors& other, int)
      : query_data(other.query_data),
        key_data(other.key_data),
        query(query_data),
        keys(key_data.data(), other.keys.rows, other.keys.columns) {}
};

template <class T, class Visit>
void for_each_kernel_attention(Visit visit) {
  using namespace scoring;
  using enum KernelNormalization;
  for (const auto normalization : {none, context_length, sum}) {
    visit(KernelAttention<DotKernel<T>>{{T(2)}, normalization}, "dot");
    visit(KernelAttention<ExponentialKernel<T>>{{T(2)}, normalization}, "exponential");
    visit(KernelAttention<GaussianKernel<T>>{{T(1.5)}, normalization}, "Gaussian");
    visit(KernelAttention<PolynomialKernel<T>>{{3, T(0.5), T(2)}, normalization}, "polynomial");
    visit(KernelAttention<EluKernel<T>>{{}, normalization}, "elu");
    visit(KernelAttention<CosformerKernel<T>>{{T(6)}, normalization, T(1e-6)}, "cosFormer");
  }
}

}  // namespace incontext::testing
