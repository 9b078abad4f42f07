#pragma once

#include <cstddef>

#include "incontext/core/floating_point.hpp"

namespace incontext::numerics::detail {

/// What does the work of large dense matrices of doubles, stored by columns, in the place of Eigen's code of this unit:
/// functions of a library that was compiled for the processor's own instructions. The Python package sets them, because
/// its closed forms are compiled for every processor.
struct DenseFunctions {
  /// result = left right.
  void (*product)(const double* left, const double* right, double* result, std::ptrdiff_t rows, std::ptrdiff_t inner,
                  std::ptrdiff_t columns) = nullptr;
  /// Eigenvalues, from the least to the largest, and eigenvectors of a symmetric matrix.
  void (*spectrum)(const double* matrix, double* values, double* vectors, std::ptrdiff_t size) = nullptr;
};

/// Set once, before any formula is used; null: Eigen's functions.
inline DenseFunctions dense_functions;

/// The least size for which they are called.
inline constexpr std::ptrdiff_t least_dense_size = 64;

}  // namespace incontext::numerics::detail
