#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// How far the cross entropies of two_class_risk.hpp and two_class_kernel_risk.hpp, which take the context's noise as
/// Gaussian, may be from those over contexts that are drawn. A caller who shows such a loss beside a simulation, or
/// compares two of them, asks here whether the difference means anything.
namespace incontext::classification {

namespace detail {

/// What the error is made of, in units of 1/n: a share of the kernel's squared coefficient of variation v, which says
/// how few points the kernel reaches, and a number for the shape of the noise, which a wide kernel has too.
template <Real T>
T neglected_share(const T& of_kernel, const T& logit_variance, std::int64_t context_length) {
  constexpr double of_shape = 0.5, saturation = 40;  // judged by tests/classification/two_class_risk_range.cpp
  const T n = T(static_cast<double>(context_length));
  if (!(logit_variance <= T(1e30))) return (of_kernel + T(of_shape)) / n;
  return (of_kernel + T(of_shape)) / n * (logit_variance / (logit_variance + T(saturation)));
}

}  // namespace detail

/// Size of the relative error of linear_cross_entropy, whose noise is not Gaussian in short contexts.
///
/// \f[ \frac{1}{2 n}\,\frac{u}{u + 40},\quad u = \frac{\eta^2}{d} \f]
///
/// Source    the form by dimensional analysis, its two numbers from simulation: docs/theory/classification.md#range.
/// Units     dimensionless: the error relative to the cross entropy.
/// Domain    as linear_cross_entropy.
/// Limits    learning_rate = 0: 0; context_length -> infinity: 0.
/// Errors    as linear_cross_entropy.
/// Accuracy  an upper estimate, not a proven bound: no error of a simulation exceeds it
///           (tests/classification/two_class_risk_range.cpp).
template <Real T>
T linear_cross_entropy_error(std::int64_t dimension, std::int64_t context_length, const T& learning_rate) {
  linear_logit_difference(dimension, T(0), context_length, learning_rate);
  const T rate_squared = learning_rate * learning_rate;
  return detail::neglected_share(T(0), T(rate_squared / T(static_cast<double>(dimension))), context_length);
}

/// Size of the relative error of kernel_cross_entropy.
///
/// \f[ \frac{v + 1/2}{n}\,\frac{u}{u + 40},\quad u = v\,(\eta\,e^{-\kappa} A)^2,\quad
///     v = \text{partition\_function\_excess} \f]
///
/// Source    as linear_cross_entropy_error.
/// Units     dimensionless: the error relative to the cross entropy.
/// Domain    as kernel_cross_entropy.
/// Limits    learning_rate = 0 or kappa = 0: 0; context_length -> infinity: 0.
/// Errors    as kernel_cross_entropy.
/// Accuracy  as linear_cross_entropy_error.
template <Real T>
T kernel_cross_entropy_error(std::int64_t dimension, const T& kappa, std::int64_t context_length,
                             const T& learning_rate) {
  using std::exp;
  kernel_logit_difference(dimension, kappa, T(0), context_length, learning_rate);
  const T gain = learning_rate * exp(detail::log_mean(dimension, kappa).scaled);
  const T excess = partition_function_excess(dimension, kappa);
  return detail::neglected_share(excess, T(excess * gain * gain), context_length);
}

/// Size of the relative error of adaptive_cross_entropy, which also cuts an expansion in the partition function's
/// relative fluctuation v/n off. In three dimensions, with 40 points and the gain 8, it is 0.41 at kappa = 8, where the
/// loss is 0.226 and the approximation 0.191, and 0.002 at kappa = 0.5, where they agree.
///
/// \f[ \frac{\frac52 v r + \frac12}{n}\,\frac{u}{u + 40},\quad u = v\,r\,c^2,\quad
///     r = \frac{1}{1 + [q]\, e^\kappa / (n A)} \f]
///
/// Source    as linear_cross_entropy_error; [q] = 1 if the query is a key.
/// Units     dimensionless: the error relative to the cross entropy.
/// Domain    as adaptive_cross_entropy.
/// Limits    gain = 0 or kappa = 0: 0; context_length -> infinity: 0.
/// Errors    as adaptive_cross_entropy.
/// Accuracy  as linear_cross_entropy_error.
template <Real T>
T adaptive_cross_entropy_error(std::int64_t dimension, const T& kappa, std::int64_t context_length, const T& gain,
                               QueryToken query) {
  using std::exp;
  adaptive_logit_difference(dimension, kappa, T(0), context_length, gain, query);
  const T n = T(static_cast<double>(context_length)), excess = partition_function_excess(dimension, kappa);
  const T self = query == QueryToken::included ? T(exp(T(-detail::log_mean(dimension, kappa).scaled)) / n) : T(0);
  const T reached = excess / (T(1) + self);
  return detail::neglected_share(T(T(2.5) * reached), T(reached * gain * gain), context_length);
}

}  // namespace incontext::classification
