#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
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
T linear_cross_entropy(std::int64_t dimension, std::int64_t context_length, const T& learning_rate);

/// Expected share of random queries that the linear step classifies correctly, at any positive learning rate.
///
/// \f[ 1 - \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\;
///     \Phi\left(-\frac{m_d s \sqrt n}{\sqrt{1/d - m_d^2 s^2}}\right) d\alpha \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Domain    dimension >= 2, context_length even.
/// Limits    context_length -> infinity: 1 - (d - 1)/sqrt(2 pi n d).
/// Errors    std::invalid_argument for dimension or context_length outside the domain.
/// Accuracy  of the integral, 1e-12 relative in double (tests/classification/two_class_risk.cpp); of the approximation,
///           1/(2 n) relative to the share of errors (tests/classification/two_class_risk_range.cpp).
template <Real T>
T linear_accuracy(std::int64_t dimension, std::int64_t context_length);

/// Expected share of random queries that kernel gradient descent classifies correctly, and the context-adaptive step
/// too, because their logit differences have the same sign.
///
/// \f[ 1 - \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\; \Phi\left(-\sqrt{n}\, B/\sqrt{A_2 - A^2 - B^2}\right) d\alpha \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Domain    dimension >= 2, kappa > 0, context_length even.
/// Limits    kappa -> 0: linear_accuracy.
/// Errors    std::invalid_argument for counts, std::domain_error for kappa.
/// Accuracy  of the integral, 1e-11 relative in double (tests/classification/two_class_risk.cpp); of the approximation,
///           (v + 1/2)/n relative to the share of errors, v = partition_function_excess
///           (tests/classification/two_class_risk_range.cpp).
template <Real T>
T kernel_accuracy(std::int64_t dimension, const T& kappa, std::int64_t context_length);

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
/// Domain    dimension >= 2, context_length even.
/// Limits    context_length >> dimension: best_linear_rate_leading.
/// Errors    std::invalid_argument for dimension or context_length outside the domain; numerics::ConvergenceError
///           if there is no bracket.
/// Accuracy  1e-10 relative for the rate in double (tests/classification/two_class_risk.cpp); the loss is that of
///           linear_cross_entropy, an approximation.
template <Real T>
BestRate<T> best_linear_rate(std::int64_t dimension, std::int64_t context_length);

namespace detail {

/// Average over queries, whose angle above the boundary has density 2 R_d cos^(d-2). The panels halve toward the
/// boundary, so that they resolve the layer in which the noise decides, however thin it is.
template <Real T, class Function>
T query_average(std::int64_t dimension, const Function& f) {
  using std::exp;
  const T half_pi = boost::math::constants::half_pi<T>();
  const double width = (std::min)(0.5, 2.0 / std::sqrt(static_cast<double>(dimension)));
  std::vector<T> edges{T(0), half_pi};
  // beyond 12 widths cos^(d-2) is below rounding
  for (double edge = width; edge < (std::min)(1.57, 12 * width); edge += width) edges.push_back(T(edge));
  add_graded_edges(edges, T(0), T(width / 2), T(width * 1e-13));
  std::sort(edges.begin(), edges.end());
  const T power = T(static_cast<double>(dimension - 2));
  const T density = T(2) * sphere_constants<T>(dimension).density;
  return density * panel_integral(edges, [&](const T& a) { return T(exp(T(power * log_cosine(a))) * f(a)); });
}

/// E[hinge max(-z, 0) + h(|z|)] for normal z, where h falls like e^-z: the smooth losses of a Gaussian logit have this
/// form.
template <Real T, class Function>
T gaussian_average(const LogitMoments<T>& z, const Function& h, const T& hinge) {
  using std::exp;
  using std::sqrt;
  const T stddev = sqrt(z.variance);
  // a standard deviation below the rounding of the mean counts as 0
  if (!(math::magnitude(z.mean) * std::numeric_limits<T>::epsilon() * T(16) < stddev)) {
    return h(math::magnitude(z.mean)) + hinge * (z.mean < T(0) ? T(-z.mean) : T(0));
  }
  const T digits = -std::log(std::numeric_limits<double>::epsilon()) * T(2);
  const T score = z.mean / stddev;
  const T density = exp(T(-score * score / T(2))) / boost::math::constants::root_two_pi<T>();
  const T negative_part = stddev * density - z.mean * math::normal_tail(score);
  const T reach = stddev * sqrt(digits), low = (std::max)(T(-digits / T(2)), T(z.mean - reach));
  const T high = (std::min)(T(digits / T(2)), T(z.mean + reach)), width = (std::min)(T(2), T(T(1.5) * stddev));
  if (!(low < high)) return hinge * negative_part;
  std::vector<T> edges{low};
  while (edges.back() < high) {
    const T last = edges.back(), next = (std::min)(T(last + width), high);
    edges.push_back(last < T(0) && T(0) < next ? T(0) : next);  // h has a kink at 0
  }
  const T smooth = panel_integral(edges, [&](const T& x) {
    const T g = (x - z.mean) / stddev;
    return T(h(math::magnitude(x)) * exp(T(-g * g / T(2))));
  });
  return hinge * negative_part + smooth / (stddev * boost::math::constants::root_two_pi<T>());
}

/// E log(1 + e^-z)
template <Real T>
T gaussian_cross_entropy(const LogitMoments<T>& z) {
  using std::exp;
  using std::log1p;
  return gaussian_average(
      z, [](const T& x) { return T(log1p(exp(T(-x)))); }, T(1));
}

/// E z/(1 + e^z), minus the derivative of the cross entropy by the logarithm of a factor of z.
template <Real T>
T gaussian_gain(const LogitMoments<T>& z) {
  using std::exp;
  return gaussian_average(
      z, [](const T& x) { return T(x / (T(1) + exp(x))); }, T(-1));
}

/// P(z < 0)
template <Real T>
T gaussian_error(const LogitMoments<T>& z) {
  using std::sqrt;
  return math::normal_tail(T(z.mean / sqrt(z.variance)));
}

}  // namespace detail

template <Real T>
T linear_cross_entropy(std::int64_t dimension, std::int64_t context_length, const T& learning_rate) {
  linear_logit_difference(dimension, T(0), context_length, learning_rate);
  return detail::query_average<T>(dimension, [&](const T& angle) {
    return detail::gaussian_cross_entropy(linear_logit_difference(dimension, angle, context_length, learning_rate));
  });
}

template <Real T>
T linear_accuracy(std::int64_t dimension, std::int64_t context_length) {
  linear_logit_difference(dimension, T(0), context_length, T(1));
  return T(1) - detail::query_average<T>(dimension, [&](const T& angle) {
           return detail::gaussian_error(linear_logit_difference(dimension, angle, context_length, T(1)));
         });
}

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
