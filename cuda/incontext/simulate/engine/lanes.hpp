#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/interrupt.hpp"

/// Arithmetic on W trials side by side: every variable is an array of W lanes, every loop over lanes is plain and
/// vectorises. On a GPU thread W is 1 and the loops vanish.
namespace incontext::simulate::detail {

/// The working memory of W trials: row i is the i-th variable of all lanes.
template <class T, int W>
struct Scratch {
  T* base;
  std::int64_t stride;  // between rows: W on a CPU, all trials of the wave on a GPU (neighbours read neighbours)

  INCONTEXT_HD T* row(std::int64_t i) const { return base + i * stride; }
  INCONTEXT_HD Scratch after(std::int64_t rows) const { return {base + rows * stride, stride}; }
};

template <int W, class T>
INCONTEXT_HD inline void fill(T* __restrict__ y, T value) {
  for (int lane = 0; lane < W; ++lane) y[lane] = value;
}

template <int W, class T>
INCONTEXT_HD inline void add_scaled(T* __restrict__ y, T factor, const T* __restrict__ x) {
  for (int lane = 0; lane < W; ++lane) y[lane] += factor * x[lane];
}

template <int W, class T>
INCONTEXT_HD inline void add_product(T* __restrict__ y, const T* __restrict__ a, const T* __restrict__ b) {
  for (int lane = 0; lane < W; ++lane) y[lane] += a[lane] * b[lane];
}

/// y = A x, A given by rows; the lower triangle alone if triangular. Zero entries cost a comparison.
template <int W, class T>
INCONTEXT_HD void multiply(Scratch<T, W> y, const T* matrix, Scratch<T, W> x, int dimension) {
  for (int i = 0; i < dimension && !stop_requested(); ++i) {
    fill<W>(y.row(i), T(0));
    for (int j = 0; j < dimension; ++j) {
      if (matrix[i * dimension + j] != T(0)) add_scaled<W>(y.row(i), matrix[i * dimension + j], x.row(j));
    }
  }
}

/// y = A^T x.
template <int W, class T>
INCONTEXT_HD void multiply_transposed(Scratch<T, W> y, const T* matrix, Scratch<T, W> x, int dimension) {
  for (int i = 0; i < dimension && !stop_requested(); ++i) {
    fill<W>(y.row(i), T(0));
    for (int j = 0; j < dimension; ++j) {
      if (matrix[j * dimension + i] != T(0)) add_scaled<W>(y.row(i), matrix[j * dimension + i], x.row(j));
    }
  }
}

/// out += x . y over dimension.
template <int W, class T>
INCONTEXT_HD void add_dot(T* out, Scratch<T, W> x, Scratch<T, W> y, int dimension) {
  for (int i = 0; i < dimension; ++i) add_product<W>(out, x.row(i), y.row(i));
}

/// out += a . x over dimension, a the same for all lanes.
template <int W, class T>
INCONTEXT_HD void add_dot(T* out, const T* a, Scratch<T, W> x, int dimension) {
  for (int i = 0; i < dimension; ++i) {
    if (a[i] != T(0)) add_scaled<W>(out, a[i], x.row(i));
  }
}

/// x = mean + A g with fresh standard normals g, read from blocks 0, 1, ... of the stream.
template <int W, class T>
INCONTEXT_HD void draw_gaussian(Scratch<T, W> x, const random::LaneStream<W>& stream, const T* mean, const T* factor,
                                int dimension) {
  constexpr int per_block = random::normals_per_block<T>;
  alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
  for (int i = 0; i < dimension; ++i) fill<W>(x.row(i), mean[i]);
  for (int first = 0; first < dimension && !stop_requested(); first += per_block) {
    random::normals(stream, static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < dimension; ++k) {
      for (int i = 0; i < dimension; ++i) {
        const T entry = factor[i * dimension + first + k];
        if (entry != T(0)) add_scaled<W>(x.row(i), entry, normal[k]);
      }
    }
  }
}

/// A compensated sum a lane: exact to a rounding or two whatever the number of terms.
template <int W, class T>
INCONTEXT_HD inline void add_compensated(T* __restrict__ sum, T* __restrict__ lost, const T* __restrict__ term) {
  for (int lane = 0; lane < W; ++lane) {
    const T corrected = term[lane] - lost[lane];
    const T next = sum[lane] + corrected;
    lost[lane] = (next - sum[lane]) - corrected;
    sum[lane] = next;
  }
}

}  // namespace incontext::simulate::detail
