#pragma once

#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/detail/gaussian_logit_averages.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/solve.hpp"

/// Loss and accuracy over random queries of two classes. The noise of the context is taken as Gaussian with its exact
/// mean and variance; its shape is Gaussian in long contexts only.
namespace incontext::classification {

/// Expected cross entropy of the linear step over random queries.
///
/// \f[ \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\;
///     E_g \log\left(1 + e^{-\eta (m_d s + g \sqrt{(1/d - m_d^2 s^2)/n})}\right)
///     d\alpha,\quad s = \sin\alpha,\ g \sim N(0, 1) \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Units     nats; learning_rate = eta of a loss averaged over the context.
/// Domain    dimension >= 2, context_length even, learning_rate^2 finite.
/// Limits    learning_rate = 0: log 2.
/// Errors    std::invalid_argument for counts, std::domain_error for rate.
/// Accuracy  of the integral, 1e-11 relative in double (tests/classification/two_class_risk.cpp); of the
///           approximation, linear_cross_entropy_error of two_class_risk_range.hpp.
template <Real T>
T linear_cross_entropy(std::int64_t dimension, std::int64_t context_length, const T& learning_rate) {
  linear_logit_difference(dimension, T(0), context_length, learning_rate);
  return detail::query_average<T>(dimension, [&](const T& angle) {
    return detail::gaussian_cross_entropy(linear_logit_difference(dimension, angle, context_length, learning_rate));
  });
}

/// Expected share of random queries that the linear step classifies correctly, at any positive learning rate.
///
/// \f[ 1 - \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\;
///     \Phi\left(-\frac{m_d s \sqrt n}{\sqrt{1/d - m_d^2 s^2}}\right) d\alpha \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Units     dimensionless.
/// Domain    dimension >= 2, context_length even.
/// Limits    context_length -> infinity: 1 - (d - 1)/sqrt(2 pi n d).
/// Errors    std::invalid_argument for dimension or context_length outside the domain.
/// Accuracy  of the integral, 1e-12 relative in double (tests/classification/two_class_risk.cpp); of the approximation,
///           1/(2 n) relative to the share of errors (tests/classification/two_class_risk_range.cpp).
template <Real T>
T linear_accuracy(std::int64_t dimension, std::int64_t context_length) {
  linear_logit_difference(dimension, T(0), context_length, T(1));
  return T(1) - detail::query_average<T>(dimension, [&](const T& angle) {
           return detail::gaussian_error(linear_logit_difference(dimension, angle, context_length, T(1)));
         });
}

/// Expected share of random queries that kernel gradient descent classifies correctly, and the context-adaptive step
/// too, because their logit differences have the same sign.
///
/// \f[ 1 - \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\; \Phi\left(-\sqrt{n}\, B/\sqrt{A_2 - A^2 - B^2}\right) d\alpha \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Units     dimensionless.
/// Domain    dimension >= 2, kappa > 0, context_length even.
/// Limits    kappa -> 0: linear_accuracy.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa.
/// Accuracy  of the integral, 1e-11 relative in double (tests/classification/two_class_risk.cpp); of the approximation,
///           (v + 1/2)/n relative to the share of errors, v = partition_function_excess
///           (tests/classification/two_class_risk_range.cpp).
template <Real T>
T kernel_accuracy(std::int64_t dimension, const T& kappa, std::int64_t context_length) {
  require_positive("classification::kernel_accuracy", "kappa", kappa);
  kernel_logit_difference(dimension, kappa, T(0), context_length, T(1));
  if (kappa < std::numeric_limits<T>::epsilon()) return linear_accuracy<T>(dimension, context_length);
  const T excess = detail::kernel_excess(dimension, kappa).value;
  const T n = T(static_cast<double>(context_length));
  return T(1) - detail::query_average<T>(dimension, [&](const T& angle) {
           const T delta = detail::relative_contrast(dimension, kappa, angle);
           return detail::gaussian_error(LogitMoments<T>{delta, (excess - delta * delta) / n});
         });
}

/// A learning rate and the cross entropy at it.
///
/// Units     learning_rate dimensionless, cross_entropy in nats.
template <Real T>
struct BestRate {
  T learning_rate;
  T cross_entropy;
};

/// The learning rate at which the linear step's expected cross entropy is least, to leading order, from the layer about
/// the boundary in which the noise decides.
///
/// \f[ \eta^* = \pi \sqrt{n d/3},\qquad \mathrm{CE}^* = \frac{\pi (d-1)}{2\sqrt{3 n d}} \f]
///
/// Source    derived: docs/theory/classification.md#boundary-layer; exact in the layer.
/// Units     as BestRate.
/// Domain    dimension >= 2, context_length even.
/// Errors    std::invalid_argument for dimension or context_length outside the domain.
/// Accuracy  16 eps; as an approximation of best_linear_rate 3% (rate) and 5% for n >= 10 d:
///           tests/classification/two_class_risk.cpp.
template <Real T>
BestRate<T> best_linear_rate_leading(std::int64_t dimension, std::int64_t context_length) {
  using std::sqrt;
  linear_logit_difference(dimension, T(0), context_length, T(1));
  const T d = T(static_cast<double>(dimension)), n = T(static_cast<double>(context_length));
  const T pi = boost::math::constants::pi<T>();
  return {pi * sqrt(T(n * d / T(3))), pi * (d - T(1)) / (T(2) * sqrt(T(T(3) * n * d)))};
}

/// The learning rate at which the linear step's expected cross entropy is least, by minimization without that
/// approximation.
///
/// \f[ \eta^* = \arg\min_\eta \mathrm{CE}(\eta),\quad E\left[\frac{z}{1 + e^{z}}\right] = 0 \f]
///
/// Source    derived: docs/theory/classification.md#risk; the loss is convex in the learning rate. Its stationary point
///           is bracketed about best_linear_rate_leading and found by the method of Alefeld, Potra and Shi.
/// Units     as BestRate.
/// Domain    dimension >= 2, context_length even.
/// Limits    context_length >> dimension: best_linear_rate_leading.
/// Errors    std::invalid_argument for dimension or context_length outside the domain; numerics::ConvergenceError
///           if there is no bracket.
/// Accuracy  1e-10 relative for the rate in double (tests/classification/two_class_risk.cpp); the loss is that of
///           linear_cross_entropy, an approximation.
template <Real T>
BestRate<T> best_linear_rate(std::int64_t dimension, std::int64_t context_length) {
  using std::exp;
  using std::log;
  const auto slope = [&](const T& log_rate) {
    const T learning_rate = exp(log_rate);
    return detail::query_average<T>(dimension, [&](const T& angle) {
      return detail::gaussian_gain(linear_logit_difference(dimension, angle, context_length, learning_rate));
    });
  };
  const T start = log(best_linear_rate_leading<T>(dimension, context_length).learning_rate);
  T low = start - T(0.25), high = start + T(0.25);
  constexpr int most_steps = 100;
  for (int i = 0; i < most_steps && !(T(0) < slope(low)); ++i) low -= T(0.5);
  for (int i = 0; i < most_steps && !(slope(high) < T(0)); ++i) high += T(0.5);
  const T learning_rate =
      exp(numerics::root_between<T>("classification::best_linear_rate", slope, low, high, {.scale = T(1)}));
  return {learning_rate, linear_cross_entropy(dimension, context_length, learning_rate)};
}

}  // namespace incontext::classification
