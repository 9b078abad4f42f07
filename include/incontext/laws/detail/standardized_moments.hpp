#pragma once

#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_flow.hpp"

namespace incontext::laws::detail {

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

}  // namespace incontext::laws::detail
