#pragma once

#include <cstddef>
#include <type_traits>

#include "incontext/core/real.hpp"

/// Sums over a few columns of equal length, in pieces that stay in registers.
namespace incontext::training::detail {

inline constexpr std::ptrdiff_t piece = 32;

/// Calls act(first, size) for every piece of `length` numbers; size is a constant but for the last piece.
template <class Act>
void each_piece(std::ptrdiff_t length, const Act& act) {
  std::ptrdiff_t first = 0;
  for (; first + piece <= length; first += piece) act(first, std::integral_constant<std::ptrdiff_t, piece>());
  if (first < length) act(first, length - first);
}

/// out += sum_k factors[k] columns[k]
template <Real T>
void add_weighted_columns(const T* const* columns, const T* factors, std::ptrdiff_t count, std::ptrdiff_t length,
                          T* out) {
  each_piece(length, [&](std::ptrdiff_t first, auto size) {
    T sum[piece];
    for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] = out[first + i];
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const T factor = factors[k];
      const T* const column = columns[k] + first;
      for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] += factor * column[i];
    }
    for (std::ptrdiff_t i = 0; i < size; ++i) out[first + i] = sum[i];
  });
}

/// sums[k] += factors[k] direction, for every k
template <Real T>
void add_to_columns(const T* direction, const T* factors, std::ptrdiff_t count, std::ptrdiff_t length, T* const* sums) {
  each_piece(length, [&](std::ptrdiff_t first, auto size) {
    T own[piece];
    for (std::ptrdiff_t i = 0; i < size; ++i) own[i] = direction[first + i];
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const T factor = factors[k];
      T* const sum = sums[k] + first;
      for (std::ptrdiff_t i = 0; i < size; ++i) sum[i] += factor * own[i];
    }
  });
}

}  // namespace incontext::training::detail
