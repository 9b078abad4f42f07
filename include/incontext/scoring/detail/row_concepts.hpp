#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "incontext/core/floating_point.hpp"

/// What a Row and a MatrixView can be made of.
namespace incontext::scoring::detail {

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

}  // namespace incontext::scoring::detail
