#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// The logit of the right class minus that of the wrong class, for a query at an angle above the boundary of two
/// classes, over balanced contexts with n/2 points per class.
namespace incontext::classification {

/// Mean and variance of a logit difference over contexts.
///
/// Units     logits, in nats; the variance their square.
template <Real T>
struct LogitMoments {
  T mean;
  T variance;
};

namespace detail {

template <Real T>
void require_two_classes(std::string_view where, std::int64_t dimension, const T& kappa, const T& boundary_angle,
                         std::int64_t context_length) {
  require_dimension(where, dimension, 2);
  require_non_negative(where, "kappa", kappa);
  require_concentration(where, kappa);
  require_boundary_angle(where, boundary_angle);
  require_balanced(where, context_length, 2);
}

/// First and second moments of the kernel times the sign of the point's side, in units of A and A^2.
template <Real T>
struct SignedKernel {
  T mean;        ///< Delta
  T variance;    ///< V / A^2 = v - Delta^2
  T covariance;  ///< C / A^2 with the unsigned kernel
};

template <Real T>
SignedKernel<T> signed_kernel(std::string_view where, std::int64_t dimension, const T& kappa, const T& boundary_angle) {
  const T delta = relative_contrast(dimension, kappa, boundary_angle);
  const T twice = relative_contrast(dimension, T(T(2) * kappa), boundary_angle);
  const T v = kernel_excess(dimension, kappa).value;
  if (!(v <= (std::numeric_limits<T>::max)() / T(4))) {
    throw_domain_error(where, "kappa is too large for the kernel's second moment in this dimension", kappa, "less");
  }
  return {delta, v - delta * delta, twice * (T(1) + v) - T(2) * delta};
}

}  // namespace detail

/// The logit difference after one step of gradient descent on a linear model, with moments exact at any context length.
///
/// \f[ E = \eta\, m_d \sin\alpha,\qquad \mathrm{Var} = \frac{\eta^2}{n}\left(\frac1d - m_d^2\sin^2\alpha\right) \f]
///
/// Source    derived: docs/theory/classification.md#logit-differences; loss averaged over the context.
/// Units     learning_rate = eta, dimensionless.
/// Domain    dimension >= 2, 0 <= boundary_angle <= pi/2, context_length even, learning_rate^2 finite.
/// Limits    n -> infinity: variance 0.
/// Errors    std::invalid_argument for counts, std::domain_error for values.
/// Accuracy  32 eps relative (tests/classification/two_class_logits.cpp).
template <Real T>
LogitMoments<T> linear_logit_difference(std::int64_t dimension, const T& boundary_angle, std::int64_t context_length,
                                        const T& learning_rate) {
  using std::sin;
  constexpr auto where = "classification::linear_logit_difference";
  detail::require_two_classes(where, dimension, T(0), boundary_angle, context_length);
  detail::require_factor(where, "learning_rate", learning_rate);
  const T mean = sphere_constants<T>(dimension).mean_absolute * sin(boundary_angle);
  const T d = T(static_cast<double>(dimension)), n = T(static_cast<double>(context_length));
  return {learning_rate * mean, learning_rate * learning_rate / n * (T(1) / d - mean * mean)};
}

/// The logit difference after one step of functional gradient descent with the RBF kernel on the sphere, exact at any
/// context length.
///
/// \f[ E = \eta e^{-\kappa} B,\qquad \mathrm{Var} = \frac{\eta^2}{n} e^{-2\kappa} (A_2 - A^2 - B^2) \f]
///
/// Source    derived: docs/theory/classification.md#logit-differences, which defines A, A_2 and B.
/// Units     learning_rate = eta, dimensionless.
/// Domain    as linear_logit_difference; kappa >= 0 (a positive definite kernel) in log_kernel_mean's domain.
/// Limits    kappa -> 0 with eta kappa fixed: linear_logit_difference.
/// Errors    as linear_logit_difference.
/// Accuracy  as hemisphere_contrast.
template <Real T>
LogitMoments<T> kernel_logit_difference(std::int64_t dimension, const T& kappa, const T& boundary_angle,
                                        std::int64_t context_length, const T& learning_rate) {
  using std::exp;
  constexpr auto where = "classification::kernel_logit_difference";
  detail::require_two_classes(where, dimension, kappa, boundary_angle, context_length);
  detail::require_factor(where, "learning_rate", learning_rate);
  const T delta = detail::relative_contrast(dimension, kappa, boundary_angle);
  const auto excess = detail::kernel_excess(dimension, kappa);
  const T scaled = detail::log_mean(dimension, kappa).scaled, n = T(static_cast<double>(context_length));
  const T scale = learning_rate * exp(scaled);
  // where A_2 / A^2 may overflow, A_2 e^(-2 kappa) is computed from its logarithm
  const T variance = T(50) < excess.log_second_moment
                         ? T(learning_rate * learning_rate * exp(T(excess.log_second_moment + T(2) * scaled)))
                         : T(scale * scale * (excess.value - delta * delta));
  return {scale * delta, variance / n};
}

/// The logit difference of the context-adaptive step, which is that of attention: its limit in long contexts and the
/// first correction.
///
/// Units     logits, in nats; the variance their square.
template <Real T>
struct AdaptiveLogitMoments {
  T limit;     ///< quotient of the means
  T mean;      ///< to order 1/n
  T variance;  ///< to order 1/n
};

/// The logit difference of the context-adaptive step, expanded about a long context.
///
/// \f[ E \approx c\left[\frac{m_N}{m_D} - \frac{n C}{m_D^2} + \frac{m_N n V}{m_D^3}\right],\quad
///     \mathrm{Var} \approx c^2\left[\frac{n V}{m_D^2} - \frac{2 m_N n C}{m_D^3} + \frac{m_N^2 n V}{m_D^4}\right] \f]
/// \f[ m_N = n B,\quad m_D = n A + [q] e^\kappa,\quad V = A_2 - A^2 - B^2,\quad C = B_2 - 2 A B \f]
///
/// Source    derived: docs/theory/classification.md#logit-differences; [q] = 1 if the query is a key.
/// Units     gain = c in nats.
/// Domain    as kernel_logit_difference; gain^2 finite; A_2 / A^2 finite.
/// Limits    n -> infinity: c Delta, variance 0. Exact mean: expected_adaptive_logit_difference.
/// Errors    as linear_logit_difference.
/// Accuracy  of the formulas, as hemisphere_contrast; of the expansion, for v/n << 1: the
///           mean is off by less than c (v/n)^2 where v/n <= 0.1 (tests/classification/two_class_logits.cpp).
template <Real T>
AdaptiveLogitMoments<T> adaptive_logit_difference(std::int64_t dimension, const T& kappa, const T& boundary_angle,
                                                  std::int64_t context_length, const T& gain, QueryToken query) {
  using std::exp;
  constexpr auto where = "classification::adaptive_logit_difference";
  detail::require_two_classes(where, dimension, kappa, boundary_angle, context_length);
  detail::require_factor(where, "gain", gain);
  const auto signed_ = detail::signed_kernel(where, dimension, kappa, boundary_angle);
  const T n = T(static_cast<double>(context_length));
  const T self = query == QueryToken::included ? T(exp(T(-detail::log_mean(dimension, kappa).scaled)) / n) : T(0);
  const T r = T(1) / (T(1) + self), limit = signed_.mean * r;  // m_N / m_D
  const T spread = r * r / n;
  return {
      gain * limit, gain * (limit + spread * (limit * signed_.variance - signed_.covariance)),
      gain * gain * spread * (signed_.variance - T(2) * limit * signed_.covariance + limit * limit * signed_.variance)};
}

}  // namespace incontext::classification
