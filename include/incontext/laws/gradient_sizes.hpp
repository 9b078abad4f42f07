#pragma once

#include <cmath>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/gaussian_row.hpp"

/// Gradients of one softmax attention layer at n independent standard normal tokens x_j and a fixed query q. Let
/// w = W_K q / tau, x = |w|, and h = W_V g for an upstream gradient g. The query contributes C_a h q^T / tau to dW_K
/// and xbar_a g^T to dW_V, where xbar_a = sum a_j x_j is the weighted mean of the tokens and
/// C_a = sum a_j (x_j - xbar_a)(x_j - xbar_a)^T their weighted covariance.
namespace incontext::laws {

/// Second moments of both gradients' random factors, and their imbalance.
///
/// Units     dimensionless, for tokens of unit variance per component.
template <Real T>
struct GradientSizes {
  T mean_token;             ///< E |xbar_a|^2
  T covariance_parallel;    ///< E |C_a h|^2 / |h|^2 for h along w
  T covariance_orthogonal;  ///< the same for h orthogonal to w
  T covariance_isotropic;   ///< the same averaged over directions of h
  T imbalance;              ///< x sqrt(covariance_isotropic / mean_token)
};

/// Mean squares of the gradients of W_K and W_V from the moments of a softmax row; exact for every n, d and x.
///
/// \f[ E|\bar x_a|^2 = (d - 1) Y_2 + E M^2,\qquad
///     \frac{E|C_a h|^2}{|h|^2} = \frac{h_\parallel^2}{|h|^2} [E V^2 + (d-1) E T]
///     + \frac{h_\perp^2}{|h|^2} [E T + E(\mathrm{tr} P)^2 + d\, E|P|_F^2] \f]
///
/// \f[ R = x \sqrt{\frac{\tfrac1d E_\parallel + (1 - \tfrac1d) E_\perp}{E|\bar x_a|^2}} \f]
///
/// Y_2, M, V and P are those of gaussian_row.hpp, and T = sum a_j^2 (g_j - M)^2. E_par and E_perp are the values of
/// E |C_a h|^2 / |h|^2 for h along w and for h orthogonal to it. R is the ratio of the root mean squares of dW_K and
/// dW_V if W_K and W_V have independent entries of one variance; for given q, h and g, |q| |h| / (tau |g|) replaces the
/// factor x.
///
/// Source    derived: docs/theory/laws.md#sizes-of-gradients; arXiv 2310.12956, Fig. 5 is the small-ViT case.
/// Units     row: gaussian_row(n, score_stddev); score_stddev = x.
/// Domain    score_stddev >= 0, dimension >= 1.
/// Limits    x << sqrt(d/n): R = x sqrt(n/d) sqrt(1 + d/n) sqrt(1 - 1/n); above, while x^2 << log n: R = 1.
/// Errors    std::domain_error for score_stddev or dimension outside the domain.
/// Accuracy  1e-11 relative: tests/laws/gradient_sizes.cpp.
template <Real T>
GradientSizes<T> gradient_sizes(const GaussianRow<T>& row, const T& score_stddev, const Count<T>& dimension) {
  const T& d = dimension;
  using std::sqrt;
  require_non_negative("laws::gradient_sizes", "score_stddev", score_stddev);
  detail::require_count("laws::gradient_sizes", "dimension", d);
  const T others = d - T(1);
  GradientSizes<T> sizes{};
  sizes.mean_token = others * row.ipr + row.squared_mean_score;
  sizes.covariance_parallel = row.squared_score_variance + others * row.weighted_deviation;
  sizes.covariance_orthogonal = row.weighted_deviation + row.squared_trace + d * row.squared_frobenius;
  sizes.covariance_isotropic = (sizes.covariance_parallel + others * sizes.covariance_orthogonal) / d;
  sizes.imbalance = score_stddev * sqrt(T(sizes.covariance_isotropic / sizes.mean_token));
  return sizes;
}

/// The ratio of the root mean squares of dW_Q and dW_V, in the place of that of dW_K and dW_V.
///
/// \f[ \frac{R_Q^2}{R^2} = 1 - \frac1{d_k} + \frac1{d_k} \frac{E_\parallel}{E_{iso}} \f]
///
/// One query's contribution to dW_Q is x_q (W_K^T C_a h)^T / tau. W_K has the score direction w = W_K q / tau in it: in
/// the one of its d_k directions that is q the gradient is w . C_a h, in the others that of independent normal entries.
/// So W_Q has W_K's ratio up to a part 1/d_k, which is gained at x near 1 and lost in frozen rows.
///
/// Source    derived: docs/theory/laws.md#sizes-of-gradients; arXiv 2310.12956, Fig. 5.
/// Units     sizes: gradient_sizes(row, score_stddev, dimension); key_dimension = d_k.
/// Domain    key_dimension >= 1; independent normal entries of W_Q, W_K of one variance, |q|^2 at its mean.
/// Limits    key_dimension -> infinity: sizes.imbalance.
/// Errors    std::domain_error.
/// Accuracy  4 eps: tests/laws/gradient_sizes.cpp, and literal layers there.
template <Real T>
T query_imbalance(const GradientSizes<T>& sizes, const Count<T>& key_dimension) {
  using std::sqrt;
  const T& keys = key_dimension;
  detail::require_count("laws::query_imbalance", "key_dimension", keys);
  const T parallel = sizes.covariance_isotropic > T(0) ? sizes.covariance_parallel / sizes.covariance_isotropic : T(1);
  return sizes.imbalance * sqrt(T((keys - T(1) + parallel) / keys));
}

/// The imbalance of a self-averaging row, x^2 << log n.
///
/// \f[ R \approx x \sqrt{\frac{1 + d q}{x^2 + d q}},\qquad q = \frac{e^{x^2}}{n} \f]
///
/// Source    derived: docs/theory/laws.md#sizes-of-gradients; Y_2 replaced by its annealed value, leading order in d q.
/// Domain    row_length >= 1, score_stddev >= 0, dimension >= 1.
/// Limits    score_stddev = 0: 0; score_stddev -> infinity: score_stddev, which is not the imbalance.
/// Errors    std::domain_error for row_length, score_stddev or dimension outside the domain.
/// Accuracy  an approximation: 5% for x <= 1, n >= 64 and d <= 64 (tests/laws/gradient_sizes.cpp).
template <Real T>
T annealed_imbalance(const Count<T>& row_length, const T& score_stddev, const Count<T>& dimension) {
  const T& n = row_length;
  const T& d = dimension;
  using std::exp;
  using std::sqrt;
  detail::require_count("laws::annealed_imbalance", "row_length", n);
  require_non_negative("laws::annealed_imbalance", "score_stddev", score_stddev);
  detail::require_count("laws::annealed_imbalance", "dimension", d);
  const T square = score_stddev * score_stddev, rarity = exp(T(-square)), share = d / n;
  const T rare_square = T(0) < rarity ? T(square * rarity) : T(0);  // square may be infinite
  return score_stddev * sqrt(T((rarity + share) / (rare_square + share)));
}

INCONTEXT_COMPILED(laws_gradient_sizes, gradient_sizes<double>);
INCONTEXT_COMPILED(laws_gradient_sizes, query_imbalance<double>);
INCONTEXT_COMPILED(laws_gradient_sizes, annealed_imbalance<double>);

}  // namespace incontext::laws
