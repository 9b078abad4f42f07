#pragma once

#include <cstddef>

#include "incontext/core/floating_point.hpp"

namespace incontext::numerics::detail {

/// Functions that multiply and decompose large dense matrices of doubles, stored by columns, instead of Eigen as this unit
/// compiles it. The Python package, whose closed forms are compiled for every processor, sets them to functions that are
/// compiled for this one.
struct DenseFunctions {
  /// result = left right.
  void (*product)(const double* left, const double* right, double* result, std::ptrdiff_t rows, std::ptrdiff_t inner,
                  std::ptrdiff_t columns) = nullptr;
  /// Eigenvalues, from the least to the largest, and eigenvectors of a symmetric matrix.
  void (*spectrum)(const double* matrix, double* values, double* vectors, std::ptrdiff_t size) = nullptr;
};

/// Set once, before any formula is used; null: Eigen's functions.
inline DenseFunctions dense_functions;

/// The least size for which these functions are called.
inline constexpr std::ptrdiff_t least_dense_size = 64;

}  // namespace incontext::numerics::detail
