#pragma once

#include <cstdint>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/lanes.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/simulate/engine/interrupt.hpp"

/// The vocabulary in which trials are written: arrays of Lanes in memory, and the vector algebra on them.
namespace incontext::simulate {

/// Goes through an array of Lanes from one element to the next, for the loops in which a trial spends its time: the
/// address is one sum, and no product.
///
/// Runs on   host and device
template <class T, int W>
struct LaneIterator {
  T* at;
  std::int64_t stride;

  INCONTEXT_HD Lanes<T, W>& operator*() const { return reinterpret_cast<Lanes<T, W>&>(*at); }
  INCONTEXT_HD LaneIterator& operator++() {
    at += stride;
    return *this;
  }
};

/// An array of Lanes in memory: a trial's working memory, a vector in it, or the values that the trial writes.
///
///     const auto query = scratch.take(d), keyed_query = scratch.take(d);   // two vectors of the working memory
///     own[State::largest] = 0.0;                                           // a variable with a name
///
/// Runs on   host and device
template <class T, int W>
struct LaneArray {
  T* base;
  std::int64_t stride;  // the distance in numbers from one element to the next; on a GPU the first elements of all
                        // threads come first, then all second ones, so that neighboring threads read neighboring memory

  INCONTEXT_HD Lanes<T, W>& operator[](std::int64_t i) const {
#if defined(__CUDA_ARCH__)
    // One instruction, where a product of numbers of 64 bits takes several. make_room refuses memory for which 32 bits
    // are too few.
    const auto bytes = std::uint64_t{static_cast<std::uint32_t>(i)} * static_cast<std::uint32_t>(stride * sizeof(T));
    return reinterpret_cast<Lanes<T, W>&>(*reinterpret_cast<T*>(reinterpret_cast<char*>(base) + bytes));
#else
    return reinterpret_cast<Lanes<T, W>&>(base[i * stride]);
#endif
  }
  template <class Name>
    requires std::is_enum_v<Name>
  INCONTEXT_HD Lanes<T, W>& operator[](Name variable) const {
    return (*this)[static_cast<std::int64_t>(variable)];
  }

  INCONTEXT_HD LaneIterator<T, W> first() const { return {base, stride}; }

  /// The array from element `size` on.
  INCONTEXT_HD LaneArray after(std::int64_t size) const { return {base + size * stride, stride}; }

  /// Splits the array: returns its first `size` elements, and becomes the rest.
  INCONTEXT_HD LaneArray take(std::int64_t size) {
    const LaneArray taken = *this;
    base += size * stride;
    return taken;
  }
};

namespace detail {

/// What a loop adds to: the lanes in place, but where W is 1, as on a GPU, a copy in a register that the destructor
/// writes back. Nothing else may read or write the lanes meanwhile.
template <class T, int W>
class RunningSum {
 public:
  INCONTEXT_HD explicit RunningSum(Lanes<T, W>& lanes) : lanes_(lanes), sum_(lanes) {}
  RunningSum(const RunningSum&) = delete;
  RunningSum& operator=(const RunningSum&) = delete;
  INCONTEXT_HD ~RunningSum() {
    if constexpr (W == 1) lanes_ = sum_;
  }
  INCONTEXT_HD Lanes<T, W>& operator*() { return sum_; }

 private:
  Lanes<T, W>& lanes_;
  std::conditional_t<W == 1, Lanes<T, W>, Lanes<T, W>&> sum_;
};

}  // namespace detail

/// y += factor x, or nothing where the factor is 0, so that 0 times an infinite x is not NaN. One thread of a GPU
/// computes both and chooses, which takes less than a branch.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void add_nonzero(Lanes<T, W>& y, T factor, const Lanes<T, W>& x) {
  if constexpr (W == 1) {
    const T sum = y[0] + factor * x[0];
    y[0] = factor != T(0) ? sum : y[0];
  } else {
    if (factor != T(0)) add_scaled(y, factor, x);
  }
}

/// Sets the first `size` elements of x to `value`.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void fill(LaneArray<T, W> x, std::int64_t size, T value) {
  for (std::int64_t i = 0; i < size; ++i) x[i] = value;
}

/// Adds the inner product x . y to `sum`.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void add_dot(Lanes<T, W>& sum, LaneArray<T, W> x, LaneArray<T, W> y, int dimension) {
  detail::RunningSum total(sum);
  INCONTEXT_UNROLL_4_ON_GPU
  for (int i = 0; i < dimension; ++i) add_product(*total, x[i], y[i]);
}

/// Adds the inner product a . x to `sum`, for a vector a that is the same in all trials, whose entries are `step`
/// numbers apart. Entries that are 0 are skipped.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void add_dot(Lanes<T, W>& sum, const T* a, LaneArray<T, W> x, int dimension, std::int64_t step = 1) {
  detail::RunningSum total(sum);
  INCONTEXT_UNROLL_4_ON_GPU
  for (int i = 0; i < dimension; ++i, a += step) add_nonzero(*total, *a, x[i]);
}

/// Computes y = A x for a square matrix A, stored row by row; y is not x. Entries that are 0 are skipped, so a diagonal
/// matrix costs one product per row.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void multiply(LaneArray<T, W> y, const T* matrix, LaneArray<T, W> x, int dimension) {
  for (int i = 0; i < dimension && !stop_requested_on_host(); ++i) {
    y[i] = T(0);
    add_dot(y[i], matrix + i * dimension, x, dimension);
  }
}

/// Computes y = A^T x for a square matrix A, stored row by row; y is not x. Entries that are 0 are skipped.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void multiply_transposed(LaneArray<T, W> y, const T* matrix, LaneArray<T, W> x, int dimension) {
  for (int i = 0; i < dimension && !stop_requested_on_host(); ++i) {
    y[i] = T(0);
    add_dot(y[i], matrix + i, x, dimension, dimension);
  }
}

/// Returns the inner product x . y. Here x may also be a vector that is the same in all trials.
///
/// Runs on   host and device
template <class Left, class T, int W>
INCONTEXT_HD Lanes<T, W> dot(Left x, LaneArray<T, W> y, int dimension) {
  Lanes<T, W> sum(T(0));
  add_dot(sum, x, y, dimension);
  return sum;
}

/// Fills x with consecutive standard normal numbers of a stream, from block `first_block` on.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void draw_normals(LaneArray<T, W> x, const random::LaneStream<W>& stream, std::uint32_t first_block,
                               std::int64_t size) {
  constexpr int per_block = random::normals_per_block<T>;
  Lanes<T, W> normal[per_block];
  for (std::int64_t first = 0; first < size && !stop_requested_on_host(); first += per_block) {
    random::normals(stream, first_block + static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < size; ++k) x[first + k] = normal[k];
  }
}

/// Draws x = mean + A g, where g are the first standard normal numbers of the stream. The matrix A is stored row by
/// row; its entries that are 0 are skipped.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void draw_gaussian(LaneArray<T, W> x, const random::LaneStream<W>& stream, const T* mean, const T* factor,
                                int dimension) {
  constexpr int per_block = random::normals_per_block<T>;
  Lanes<T, W> normal[per_block];
  INCONTEXT_UNROLL_4_ON_GPU
  for (int i = 0; i < dimension; ++i) x[i] = mean[i];
  for (int first = 0; first < dimension && !stop_requested_on_host(); first += per_block) {
    random::normals(stream, static_cast<std::uint32_t>(first / per_block), normal);
    INCONTEXT_UNROLL_4_ON_GPU
    for (int i = 0; i < dimension; ++i) {
      const T* const row = factor + i * dimension + first;
      detail::RunningSum sum(x[i]);
      for (int k = 0; k < per_block; ++k) {
        if (first + k < dimension) add_nonzero(*sum, row[k], normal[k]);
      }
    }
  }
}

/// Draws x uniformly from the unit sphere, from block `first_block` of the stream on.
///
/// Runs on   host and device
template <class T, int W>
INCONTEXT_HD void draw_sphere_point(LaneArray<T, W> x, const random::LaneStream<W>& stream, std::uint32_t first_block,
                                    int dimension) {
  random::sphere_point(stream, first_block, dimension, x.base, x.stride);
}

}  // namespace incontext::simulate
