#pragma once

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <concepts>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_sizes.hpp"

namespace incontext::laws {

/// Mean squares of the gradients of W_K and W_V under NormSoftmax where the row's own standard deviation (population
/// convention) is the temperature. They do not depend on the scale of W_Q and W_K.
///
/// \f[ u = \frac{g - \bar g}{\sigma_g},\quad a = \mathrm{softmax}(u),\quad dS = \frac{1}{\sigma_g}
///     \Bigl(I - \frac{u u^T}{n}\Bigr) P\, X h \f]
/// \f[ E|\bar x_a|^2 = (d - 1) Y_2 + \tfrac1n + (1 - \tfrac1n) E M^2,\qquad
///     \frac{E|dK|^2}{|h|^2} = (d - 1)\, E\Bigl[T - \frac{V^2}{n}\Bigr] \text{ along } w,\qquad
///     \frac{n}{n - 3} E\Bigl[(d - 2)(F - \tfrac Tn) + (\mathrm{tr}P - \tfrac Vn)^2 + 2 F - \tfrac{3T}{n}
///     + \frac{V^2}{n^2}\Bigr] \text{ orthogonal} \f]
/// Here M = sum a u, V = u^T P u, T = |P u|^2 and F = |P|_F^2 of the standardized scores. The part of h orthogonal to w
/// contributes nothing along w. The expectations come from gaussian_row at x = 1 and its first two derivatives, which
/// remove the effect of the scatter of sigma_g.
///
/// Source    derived: docs/theory/laws.md#normsoftmax-gradients; arXiv 2310.12956 has the map.
/// Units     as gradient_sizes; the covariances times 1/sigma_g^2, so that imbalance is the root of their ratio.
/// Domain    row_length >= 4 and whole, at most gaussian_row's largest; dimension >= 1.
/// Limits    n -> infinity at fixed d: squared imbalance 1 - 1/d, that of softmax at x = 1 without the part along w.
/// Errors    std::domain_error for row_length or dimension outside the domain; numerics::QuadratureError.
/// Accuracy  asymptotic, a relative error of order 1/n^2: within 5 standard errors of 20000 rows at n = 32 and 64; at
///           n = 8 1% of the imbalance and 0.5% of covariance_orthogonal (tests/laws/normsoftmax_gradient_sizes.cpp).
template <class N, Real T = RealOf<N>>
  requires std::convertible_to<const N&, CountOf<T>>
GradientSizes<T> normsoftmax_gradient_sizes(const N& row_length, const Count<T>& dimension);

namespace detail {

/// Expectations over a softmax row with scores x g that are functions of the exponents y = x g alone.
template <Real T>
struct ExponentMoments {
  T ipr, mean_square, deviation, variance, squared_variance, frobenius, trace, squared_trace;

  ExponentMoments(const T& count, const T& x) {
    const GaussianRow<T> row = gaussian_row(count, x);
    const T square = x * x;
    ipr = row.ipr;
    mean_square = square * (row.squared_mean_score - T(1) / count);  // of sum a_j y_j minus the row's mean
    deviation = square * row.weighted_deviation;
    variance = square * row.score_variance;
    squared_variance = square * square * row.squared_score_variance;
    frobenius = row.squared_frobenius;
    trace = row.trace;
    squared_trace = row.squared_trace;
  }
};

/// The same expectations for scores scaled to standard deviation exactly 1 in every row, to second order in 1/n. A row
/// of normal scores at x has the standard deviation x sigma, where sigma^2 ~ chi^2_{n-1} / n is independent of the
/// standardized scores. So an expectation f at x is E F(x sigma), where F(y) is that of standardized scores times y,
/// and F(1) = f - E(sigma - 1) f' - E(sigma - 1)^2 f'' / 2 + O(1/n^2) at x = 1.
template <Real T>
class StandardizedMoments {
 public:
  explicit StandardizedMoments(const T& count)
      : low_(count, T(1) - step()), middle_(count, T(1)), high_(count, T(1) + step()) {
    using std::sqrt;
    // E sigma = sqrt(2 / n) Gamma(n / 2) / Gamma((n - 1) / 2), E sigma^2 = 1 - 1/n
    const T gammas = boost::math::tgamma_delta_ratio(T((count - T(1)) / T(2)), T(0.5));
    excess_ = sqrt(T(T(2) / count)) / gammas - T(1);
    square_ = -T(1) / count - T(2) * excess_;
  }

  T operator()(T ExponentMoments<T>::*one) const {
    const T slope = (high_.*one - low_.*one) / (T(2) * step());
    const T curvature = (high_.*one - T(2) * middle_.*one + low_.*one) / (step() * step());
    return middle_.*one - excess_ * slope - square_ * curvature / T(2);
  }

 private:
  static T step() { return T(1) / T(64); }

  ExponentMoments<T> low_, middle_, high_;
  T excess_, square_;  // E (sigma - 1), E (sigma - 1)^2
};

}  // namespace detail

template <class N, Real T>
  requires std::convertible_to<const N&, CountOf<T>>
GradientSizes<T> normsoftmax_gradient_sizes(const N& row_length, const Count<T>& dimension) {
  using std::sqrt;
  const T n = CountOf<T>(row_length);
  const T& d = dimension;
  detail::require_whole("laws::normsoftmax_gradient_sizes", "row_length", n, 4);
  detail::require_count("laws::normsoftmax_gradient_sizes", "dimension", d);
  const detail::StandardizedMoments<T> mean(n);
  using Moments = detail::ExponentMoments<T>;
  const T share = T(1) / n, others = d - T(1);
  const T deviation = mean(&Moments::deviation), square = mean(&Moments::squared_variance);
  const T frobenius = mean(&Moments::frobenius);
  // E tr P V is taken as a product of means, which leaves out a term of order 1/n^2
  const T squared_trace = mean(&Moments::squared_trace) -
                          T(2) * share * mean(&Moments::trace) * mean(&Moments::variance) + square * share * share;
  GradientSizes<T> sizes{};
  sizes.mean_token = others * mean(&Moments::ipr) + share + (T(1) - share) * mean(&Moments::mean_square);
  sizes.covariance_parallel = others * (deviation - square * share);
  sizes.covariance_orthogonal = ((d - T(2)) * (frobenius - deviation * share) + squared_trace + T(2) * frobenius -
                                 T(3) * deviation * share + square * share * share) *
                                n / (n - T(3));
  sizes.covariance_isotropic = (sizes.covariance_parallel + others * sizes.covariance_orthogonal) / d;
  sizes.imbalance = sqrt(T(sizes.covariance_isotropic / sizes.mean_token));
  return sizes;
}

INCONTEXT_COMPILED(laws_normsoftmax_gradient_sizes, normsoftmax_gradient_sizes<double>);

}  // namespace incontext::laws
