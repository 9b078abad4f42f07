#pragma once

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// E[u u^T] of one context of normal inputs, as a function of B = E[p p^T] and of the values' noise v_y^2 s2:
/// docs/theory/regression.md#gaussian-inputs and #linear-attention. Without the noise both functions are linear in B
/// and self-adjoint, tr(K f(B)) = tr(f(K) B), so that f(K) is the gradient of tr(K E[u u^T]) by B.
namespace incontext::regression::detail {

/// Centered scores, to leading order in 1/l: Sigma B Sigma + (tr(B Sigma) + noise) Sigma / l. The exact moment is
/// (l - 1) / l times it.
template <Real T, class M>
M centered_second_moment(const M& s, const M& b, const T& noise, const T& l) {
  const T spread = (trace_of_product<T>(b, s) + noise) / l;
  return product<T>(product<T>(s, b), s) + spread * s;
}

/// Scores that are not centered, Lambda = Sigma + mu mu^T: (l - 1) / l Lambda B Lambda + F(B) / l + noise Lambda / l.
template <Real T, class M>
M raw_second_moment(const M& lambda, const Vector<T>& mu, const M& b, const T& noise, const T& l) {
  const M sandwich = product<T>(product<T>(lambda, b), lambda);
  const M fourth = plus_outer<T>(T(2.0) * sandwich + trace_of_product<T>(b, lambda) * lambda,
                                 T(-2.0) * mu.dot(Vector<T>(b * mu)), mu, mu);
  return ((l - T(1.0)) / l) * sandwich + fourth / l + (noise / l) * lambda;
}

}  // namespace incontext::regression::detail
