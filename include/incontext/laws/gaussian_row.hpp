#pragma once

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/row_functionals.hpp"

namespace incontext::laws {

/// Expectations over a row of softmax weights a_j of n independent normal scores, the random energy model of
/// statistical physics. g_j are the scores in units of their standard deviation, M = sum a_j g_j, P = diag(a) - a a^T.
///
/// Units     log_partition and entropy in nats, the rest dimensionless.
template <Real T>
struct GaussianRow {
  T log_partition;           ///< E log Z
  T entropy;                 ///< -E sum a log a
  T ipr;                     ///< Y_2 = E sum a^2
  T cubed_weights;           ///< Y_3 = E sum a^3
  T squared_ipr;             ///< Y_22 = E (sum a^2)^2
  T trace;                   ///< E tr P = 1 - Y_2
  T squared_trace;           ///< E (tr P)^2
  T squared_frobenius;       ///< E |P|_F^2
  T mean_score;              ///< E M
  T squared_mean_score;      ///< E M^2
  T score_variance;          ///< E V, V = sum a_j g_j^2 - M^2
  T squared_score_variance;  ///< E V^2
  T weighted_deviation;      ///< E sum a_j^2 (g_j - M)^2
  T error_estimate;          ///< the largest relative error estimate among them
};

/// Exact expectations over a softmax row of n independent normal scores, at any temperature.
///
/// \f[ E \prod_{i=1}^p \sum_j a_j^{k_i} g_j^{l_i} = \sum_{\text{partitions}} \frac{n!}{(n-B)!\,\Gamma(K)} \int ds
///     \prod_{b=1}^B T_{K_b,L_b}(s)\, \psi(s)^{n-B},\qquad K = \sum_i k_i \f]
/// \f[ \psi(s) = E e^{-e^{s + x g}},\qquad T_{k,l}(s) = E\, g^l e^{k (s + x g) - e^{s + x g}} \f]
///
/// The outer sum runs over the ways in which the p indices coincide: B blocks of equal indices, with K_b and L_b the
/// sums of k_i and l_i in block b. The integral over s comes from 1 / Z^K, which makes the scores independent.
/// Differences such as 1 - Y_2 or a variance are expanded over distinct tokens first, so that no digits are lost where
/// all weights are equal or one is 1.
///
///     const auto row = laws::gaussian_row<double>(1'000'000, 2.0);
///
/// Source    derived: docs/theory/laws.md#normal-scores.
/// Units     score_stddev = x = beta times the standard deviation of the scores, dimensionless. For SSMax
///           beta = s log n + b.
/// Domain    row_length = n >= 1 and whole, in double at most 3.5e72 (n^-4 underflows beyond);
///           0 <= score_stddev <= 1e20.
/// Limits    row_length = 1: weight 1; score_stddev = 0: uniform; score_stddev -> infinity: the largest score has all
///           weight; n -> infinity with x / sqrt(2 log n) > 1: poisson_dirichlet.hpp.
/// Errors    std::domain_error for row_length or score_stddev outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_row.cpp, precision_slow.cpp; at 50 digits 28 digits of the references:
///           tests/laws/gaussian_row_50digits.cpp.
template <Real T>
GaussianRow<T> gaussian_row(const Count<T>& row_length, const T& score_stddev) {
  const T& n = row_length;
  detail::require_row("laws::gaussian_row", "row_length", n, 4);
  detail::require_width("laws::gaussian_row", "score_stddev", score_stddev, 1e20);
  if (n <= T(1)) return detail::single_score<T>();
  return detail::RowFunctionals<T>(n, score_stddev).all();
}

}  // namespace incontext::laws
