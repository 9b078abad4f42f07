#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/floating_point.hpp"
#include "incontext/core/host_device.hpp"

namespace incontext::scoring {

// What a Row and a MatrixView can be made of.
namespace detail {

/// int is the mutable type of const int. A mutable T has none, so that a Row of it keeps its implicit copy constructor.
template <class Mutable, class T>
concept MutableOf = std::is_const_v<T> && std::same_as<Mutable, std::remove_const_t<T>>;

/// A contiguous standard container: std::vector, std::array, std::span.
template <class Container, class T>
concept ContiguousContainer = requires(Container& container) {
  { container.data() } -> std::convertible_to<T*>;
  { container.size() } -> std::convertible_to<std::size_t>;
} && !requires(Container& container) { container.innerStride(); };

/// An Eigen vector, or a row or column of an Eigen matrix; recognized by its members, so that Eigen is not included.
template <class Container, class T>
concept StridedVector = requires(Container& container) {
  { container.data() } -> std::convertible_to<T*>;
  { container.innerStride() } -> std::convertible_to<std::ptrdiff_t>;
  requires static_cast<bool>(std::remove_cvref_t<Container>::IsVectorAtCompileTime);
};

/// An Eigen matrix or block with elements in memory.
template <class Container, class T>
concept StridedMatrix = requires(Container& container) {
  { container.data() } -> std::convertible_to<T*>;
  { container.rowStride() } -> std::convertible_to<std::ptrdiff_t>;
  { container.colStride() } -> std::convertible_to<std::ptrdiff_t>;
};

}  // namespace detail

/// A row of numbers in contiguous or strided memory: a view that never owns the numbers.
///
/// Shapes    size elements, element i at data[i * stride].
/// Domain    size >= 0; a mutable row needs stride != 0. Not checked.
/// Runs on   host and device
template <class T>
struct Row {
  using value_type = std::remove_const_t<T>;

  T* data = nullptr;
  std::ptrdiff_t size = 0;
  std::ptrdiff_t stride = 1;

  Row() = default;
  INCONTEXT_HD constexpr Row(T* first, std::ptrdiff_t length, std::ptrdiff_t step = 1)
      : data(first), size(length), stride(step) {}
  template <detail::MutableOf<T> Mutable>
  INCONTEXT_HD constexpr Row(const Row<Mutable>& other) : data(other.data), size(other.size), stride(other.stride) {}
  template <detail::ContiguousContainer<T> Container>
  constexpr Row(Container&& container) : data(container.data()), size(static_cast<std::ptrdiff_t>(container.size())) {}
  template <detail::StridedVector<T> Container>
  constexpr Row(Container&& container)
      : data(container.data()), size(container.size()), stride(container.innerStride()) {}

  INCONTEXT_HD constexpr T& operator[](std::ptrdiff_t i) const { return data[i * stride]; }
  /// The first `length` elements, as a causal mask leaves them.
  INCONTEXT_HD constexpr Row first(std::ptrdiff_t length) const { return Row(data, length, stride); }
};

/// The distances in memory, in elements, between neighboring rows and between neighboring columns of a matrix.
///
/// Runs on   host and device
struct Strides {
  std::ptrdiff_t row = 0;
  std::ptrdiff_t column = 1;
};

/// A matrix of numbers in strided memory, row-major unless the strides are given: a view that never owns the numbers.
///
/// Shapes    rows x columns, element (i, j) at data[i * row_stride + j * column_stride].
/// Domain    rows, columns >= 0. Not checked.
/// Runs on   host and device
template <class T>
struct MatrixView {
  using value_type = std::remove_const_t<T>;

  T* data = nullptr;
  std::ptrdiff_t rows = 0;
  std::ptrdiff_t columns = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t column_stride = 1;

  MatrixView() = default;
  INCONTEXT_HD constexpr MatrixView(T* first, std::ptrdiff_t row_count, std::ptrdiff_t column_count)
      : data(first), rows(row_count), columns(column_count), row_stride(column_count) {}
  INCONTEXT_HD constexpr MatrixView(T* first, std::ptrdiff_t row_count, std::ptrdiff_t column_count,
                                    const Strides& strides)
      : data(first), rows(row_count), columns(column_count), row_stride(strides.row), column_stride(strides.column) {}
  template <detail::MutableOf<T> Mutable>
  INCONTEXT_HD constexpr MatrixView(const MatrixView<Mutable>& other)
      : MatrixView(other.data, other.rows, other.columns, Strides{other.row_stride, other.column_stride}) {}
  template <detail::StridedMatrix<T> Matrix>
  constexpr MatrixView(Matrix&& matrix)
      : MatrixView(matrix.data(), matrix.rows(), matrix.cols(), Strides{matrix.rowStride(), matrix.colStride()}) {}

  INCONTEXT_HD constexpr T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) const {
    return data[i * row_stride + j * column_stride];
  }
  INCONTEXT_HD constexpr Row<T> row(std::ptrdiff_t i) const {
    return Row<T>(data + i * row_stride, columns, column_stride);
  }
  INCONTEXT_HD constexpr Row<T> column(std::ptrdiff_t j) const {
    return Row<T>(data + j * column_stride, rows, row_stride);
  }
};

}  // namespace incontext::scoring
