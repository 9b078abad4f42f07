#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "incontext/laws/gaussian_needle.hpp"

namespace incontext::calibration {

/// Expected weight of a needle that is `gap` above the mean of the scores that it competes with in its own row, for
/// normal scores.
///
/// \f[ W_c(g) = E \frac{1}{1 + e^{-g} \sum_{j \le n} e^{z_j - \bar z}},\qquad
///     E_\xi\, W_c(g + \xi) = W(g),\quad \xi \sim N(0, x^2 / n) \f]
///
/// It is what is measured on rows whose true mean is not known. n is `row_length` and x is `score_stddev`. W is
/// laws::needle_weight, whose gap is measured from the law's mean. The row's mean is independent of the deviations
/// from it, so that W is W_c averaged over a normal gap. That average is the three-point Gauss-Hermite rule
/// A = 2/3 f(g) + 1/6 (f(g + h) + f(g - h)), h^2 = 3 x^2 / n, up to order (x^2 / n)^3, and is inverted by its Neumann
/// series, W_c = W + (1 - A) W + (1 - A)^2 W.
///
/// Source    derived: docs/theory/calibration.md#a-needle-above-the-rows-own-mean.
/// Units     dimensionless: scores times the inverse temperature.
/// Domain    as laws::needle_weight; score_stddev^2 / row_length small: the error estimate is the last term. Where it
///           is not small the series may leave 0 to 1. The end of that interval is then nearer, and the estimate is
///           large.
/// Limits    score_stddev = 0: 1 / (1 + n e^(-gap)); row_length -> infinity: laws::needle_weight.
/// Errors    std::domain_error, numerics::QuadratureError as laws::needle_weight.
/// Accuracy  beside drawn rows within the error estimate, which the law without the correction is not:
///           tests/calibration/centered_needle.cpp.
inline numerics::Quadrature<double> centered_needle_weight(std::int64_t row_length, double score_stddev, double gap) {
  const double h = score_stddev * std::sqrt(3 / static_cast<double>(row_length));
  const auto law = [&](double above) { return laws::needle_weight<double>(row_length, score_stddev, above); };
  const auto center = law(gap);
  if (!(h > 0)) return center;
  const std::array<double, 5> w{law(gap - 2 * h).value, law(gap - h).value, center.value, law(gap + h).value,
                                law(gap + 2 * h).value};
  const auto minus_average = [](double below, double at, double above) { return at / 3 - (below + above) / 6; };
  const double left = minus_average(w[0], w[1], w[2]), once = minus_average(w[1], w[2], w[3]),
               right = minus_average(w[2], w[3], w[4]);
  const double twice = minus_average(left, once, right);
  const double value = center.value + once + twice, weight = std::clamp(value, 0.0, 1.0);
  return {weight, std::abs(twice) + std::abs(value - weight) + 4 * center.error_estimate};
}

}  // namespace incontext::calibration
