#pragma once

#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::regression::detail {

/// (Sigma + ridge W^-1)^-1 = C (C^T Sigma C + ridge I)^-1 C^T with W = C C^T, which needs no inverse of W.
template <Real T, class M>
M ridge_inverse(const M& s, const numerics::Cholesky<T, M>& w, const T& ridge) {
  const M& c = w.lower();
  const M system = product<T>(product<T>(c.transpose(), s), c) + ridge * M::Identity(c.rows(), c.cols());
  const M root = numerics::Cholesky<T, M>(system).solve_lower(c.transpose());
  return product<T>(root.transpose(), root);
}

}  // namespace incontext::regression::detail
