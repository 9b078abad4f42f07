#pragma once

#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::regression::detail {

/// (Sigma + ridge W^-1)^-1 = C (C^T Sigma C + ridge I)^-1 C^T with W = C C^T, which needs no inverse of W.
template <Real T>
Matrix<T> ridge_inverse(const Matrix<T>& s, const numerics::Cholesky<T>& w, const T& ridge) {
  const Matrix<T>& c = w.lower();
  Matrix<T> system = product<T>(product<T>(c.transpose(), s), c);
  system.diagonal().array() += ridge;
  const Matrix<T> root = numerics::Cholesky<T>(system).solve_lower(c.transpose());
  return product<T>(root.transpose(), root);
}

}  // namespace incontext::regression::detail
