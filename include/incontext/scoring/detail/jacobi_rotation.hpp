#pragma once

#include <cmath>
#include <cstddef>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/row.hpp"

/// One-sided Jacobi rotations, by which spectral_norm finds singular values.
namespace incontext::scoring::detail {

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

}  // namespace incontext::scoring::detail
