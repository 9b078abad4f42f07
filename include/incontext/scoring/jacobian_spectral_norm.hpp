#pragma once

#include <cmath>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::scoring {

/// Spectral norm of a matrix: its largest singular value, by one-sided Jacobi rotations of the columns.
///
/// \f[ \|A\|_2 = \max_{|u| = 1} |A u| \f]
///
/// Source    Hestenes 1958; sweeps of O(rows columns^2) each until no pair of columns turns, 40 at most.
/// Shapes    (matrix: m x n, overwritten) -> scalar
/// Units     of the entries.
/// Limits    no entry, or all 0: 0.
/// Errors    NaN for an entry that is NaN or infinite.
/// Accuracy  8 n eps relative: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Real T>
INCONTEXT_HD T spectral_norm(MatrixView<T> matrix);

/// Spectral norm of a map's Jacobian at one row: how fast the weights can move there, in the 2-norm. The bounds of
/// jacobian_norms.hpp cost O(n) and no scratch memory; the Lipschitz constants there hold over all rows.
///
/// \f[ \|J\|_2, \qquad J_{ij} = \frac{\partial a_i}{\partial z_j} \f]
///
/// Source    definition.
/// Shapes    (scores: n, scratch: n x n, overwritten) -> scalar
/// Units     of the weights over those of the scores.
/// Limits    softmax at n equal scores: 1 / (n tau); one-hot weights: 0; n = 1: 0 for maps of sum 1.
/// Errors    NaN where the map's Jacobian is.
/// Accuracy  the map's jvp, and 8 n eps relative: tests/scoring/limits_50digits.cpp.
/// Runs on   host and device
template <Scoring Map>
INCONTEXT_HD typename Map::value_type jacobian_spectral_norm(const Map& map, Row<const typename Map::value_type> scores,
                                                             MatrixView<typename Map::value_type> scratch) {
  jacobian(map, scores, scratch);
  return spectral_norm(scratch);
}

// One-sided Jacobi rotations, by which spectral_norm finds singular values.
namespace detail {

/// Jacobi's rotation of two columns that makes them orthogonal; false if they were orthogonal already, up to rounding.
template <Real T>
INCONTEXT_HD bool orthogonalize(Row<T> a, Row<T> b) {
  using std::sqrt;
  const T size_a = dot<T>(a, a);
  const T size_b = dot<T>(b, b);
  const T common = dot<T>(a, b);
  if (!(math::epsilon<T>() * sqrt(size_a) * sqrt(size_b) < math::magnitude(common))) return false;
  const T ratio = (size_b - size_a) / (T(2) * common);
  const T size = T(1) / (math::magnitude(ratio) + sqrt(T(T(1) + ratio * ratio)));
  if (!(T(0) < size)) return false;
  const T tangent = ratio < T(0) ? T(-size) : size;
  const T cosine = T(1) / sqrt(T(T(1) + tangent * tangent));
  for (std::ptrdiff_t i = 0; i < a.size; ++i) {
    const T x = cosine * (a[i] - tangent * b[i]);
    b[i] = cosine * (b[i] + tangent * a[i]);
    a[i] = x;
  }
  return true;
}

}  // namespace detail

template <Real T>
INCONTEXT_HD T spectral_norm(MatrixView<T> matrix) {
  using std::sqrt;
  T largest = T(0);
  for (std::ptrdiff_t i = 0; i < matrix.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < matrix.columns; ++j) {
      const T size = math::magnitude(matrix(i, j));
      if (!math::is_finite(size)) return math::not_a_number<T>();
      if (largest < size) largest = size;
    }
  }
  if (!(T(0) < largest)) return T(0);
  for (std::ptrdiff_t i = 0; i < matrix.rows; ++i) {  // so that no square under- or overflows where it matters
    for (std::ptrdiff_t j = 0; j < matrix.columns; ++j) matrix(i, j) = matrix(i, j) / largest;
  }
  constexpr int limit = 40;
  bool turned = true;
  for (int sweep = 0; turned && sweep < limit; ++sweep) {
    turned = false;
    for (std::ptrdiff_t p = 0; p < matrix.columns; ++p) {
      for (std::ptrdiff_t q = p + 1; q < matrix.columns; ++q) {
        if (detail::orthogonalize(matrix.column(p), matrix.column(q))) turned = true;
      }
    }
  }
  T square = T(0);
  for (std::ptrdiff_t j = 0; j < matrix.columns; ++j) {
    const T size = detail::dot<T>(matrix.column(j), matrix.column(j));
    if (square < size) square = size;
  }
  return largest * sqrt(square);
}

}  // namespace incontext::scoring
