#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/classification/two_class_layer.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/classification/two_class_softmax.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// The margin of a query, its class's logit less the other's, over contexts and queries of two classes: what a
/// simulation of the rules is judged by at any context length.
namespace incontext::classification {

/// Mean and mean square of the margin.
///
/// Units     nats; the mean square their square.
template <Real T>
struct MarginMoments {
  T mean;
  T mean_square;
};

namespace detail {

/// Average over the angle of a random query above the boundary of a function that is smooth on the scale of the kernel.
template <Real T, class Function>
T smooth_query_average(std::int64_t dimension, const T& kappa, const Function& f) {
  using std::exp;
  const T half_pi = boost::math::constants::half_pi<T>();
  const double d = static_cast<double>(dimension), size = static_cast<double>(kappa);
  const double width = (std::min)({1.6, 6.0 / std::sqrt(d), 6.0 / std::sqrt(1 + size)});
  const double last = (std::min)(1.5707, 13 / std::sqrt(d));  // beyond it cos^(d-2) is below rounding
  std::vector<T> edges{T(0)};
  for (double edge = width; edge < last - width / 4; edge += width) edges.push_back(T(edge));
  edges.push_back(last < 1.57 ? T(last) : half_pi);
  const T power = T(static_cast<double>(dimension - 2));
  return T(2) * sphere_constants<T>(dimension).density *
         panel_integral(edges, [&](const T& a) { return T(exp(T(power * log_cosine(a))) * f(a)); });
}

}  // namespace detail

/// Moments of the margin of the linear step over contexts and queries, exact at any context length.
///
/// \f[ E = \eta\, m_d^2,\qquad E^{(2)} = \frac{\eta^2}{d}\left[m_d^2 + \frac{1 - m_d^2}{n}\right] \f]
///
/// Source    derived: docs/theory/classification.md#margins; m_d of sphere_constants.
/// Units     as MarginMoments; learning_rate = eta dimensionless.
/// Domain    as linear_logit_difference.
/// Limits    n -> infinity: mean square eta^2 m_d^2 / d.
/// Errors    as linear_logit_difference.
/// Accuracy  16 eps relative (tests/classification/two_class_margin_50digits.cpp).
template <Real T>
MarginMoments<T> linear_margin(std::int64_t dimension, std::int64_t context_length, const T& learning_rate) {
  linear_logit_difference(dimension, T(0), context_length, learning_rate);  // refuses what is outside the domain
  const T m = sphere_constants<T>(dimension).mean_absolute, square = m * m;
  const T d = T(static_cast<double>(dimension)), n = T(static_cast<double>(context_length));
  return {learning_rate * square, learning_rate * learning_rate / d * (square + (T(1) - square) / n)};
}

/// Moments of the margin of the kernel step over contexts and queries, exact at any context length.
///
/// \f[ E = \eta\, e^{-\kappa} A\, E\Delta,\qquad
///     E^{(2)} = \eta^2 e^{-2\kappa} A^2 \left[E\Delta^2 + \frac{v - E\Delta^2}{n}\right] \f]
///
/// Source    derived: docs/theory/classification.md#margins; Delta of hemisphere_contrast, v of
///           partition_function_excess, both averaged over queries.
/// Units     as MarginMoments; learning_rate = eta dimensionless, kappa = 1/sigma^2.
/// Domain    as kernel_logit_difference; 1e-150 <= kappa, v finite.
/// Limits    kappa -> 0 with eta kappa fixed: linear_margin.
/// Errors    as kernel_logit_difference.
/// Accuracy  1e-12 relative in double (tests/classification/two_class_margin_50digits.cpp).
template <Real T>
MarginMoments<T> kernel_margin(std::int64_t dimension, const T& kappa, std::int64_t context_length,
                               const T& learning_rate) {
  using std::exp;
  kernel_logit_difference(dimension, kappa, T(0), context_length, learning_rate);
  const T contrast = detail::smooth_query_average<T>(
      dimension, kappa, [&](const T& angle) { return detail::relative_contrast(dimension, kappa, angle); });
  const T square = two_class_layer(dimension, kappa, context_length).mean_squared_contrast;
  const T v = detail::kernel_excess(dimension, kappa).value, n = T(static_cast<double>(context_length));
  const T scale = learning_rate * exp(detail::log_mean(dimension, kappa).scaled);
  return {scale * contrast, scale * scale * (square + (v - square) / n)};
}

/// Mean margin of the context-adaptive step over contexts and queries, exact at any context length.
///
/// \f[ c \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\; E\frac{Z_+ - Z_-}{Z_+ + Z_- + [q] e^\kappa}\, d\alpha \f]
///
/// Source    derived: docs/theory/classification.md#margins; the integrand is expected_adaptive_logit_difference.
/// Units     nats; gain = c in nats.
/// Domain    as expected_adaptive_logit_difference.
/// Limits    kappa -> 0: c kappa m_d^2 n/(n + q); n -> infinity: c E Delta.
/// Errors    as expected_adaptive_logit_difference.
/// Accuracy  1e-10 relative in double (tests/classification/two_class_margin.cpp).
template <Real T>
T mean_adaptive_margin(std::int64_t dimension, const T& kappa, std::int64_t context_length, const T& gain,
                       QueryToken query) {
  expected_adaptive_logit_difference(dimension, kappa, T(0), context_length, gain, query);
  return detail::smooth_query_average<T>(dimension, kappa, [&](const T& angle) {
    return expected_adaptive_logit_difference(dimension, kappa, angle, context_length, gain, query);
  });
}

INCONTEXT_COMPILED(classification_two_class_margin, linear_margin<double>);
INCONTEXT_COMPILED(classification_two_class_margin, kernel_margin<double>);
INCONTEXT_COMPILED(classification_two_class_margin, mean_adaptive_margin<double>);

}  // namespace incontext::classification
