#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification {

/// Expected cross entropy of kernel gradient descent over random queries of two classes.
///
/// \f[ \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\; E_g \log\left(1 + e^{-(\mu + g s)}\right) d\alpha,\quad
///     \mu, s^2\ \text{of kernel\_logit\_difference} \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise with the exact mean and variance.
/// Units     nats; learning_rate = eta of the mean loss, kappa = 1/sigma^2.
/// Domain    dimension >= 2, kappa >= 0, context_length even, learning_rate^2 finite.
/// Limits    learning_rate = 0 or kappa = 0: log 2; kappa -> 0 with learning_rate times kappa fixed:
///           linear_cross_entropy.
/// Errors    std::invalid_argument for counts, std::domain_error for values.
/// Accuracy  of the integral, 1e-11 relative in double (tests/classification/two_class_kernel_risk.cpp); of the
///           approximation, kernel_cross_entropy_error of two_class_risk_range.hpp.
template <Real T>
T kernel_cross_entropy(std::int64_t dimension, const T& kappa, std::int64_t context_length, const T& learning_rate) {
  kernel_logit_difference(dimension, kappa, T(0), context_length, learning_rate);
  return detail::query_average<T>(dimension, [&](const T& angle) {
    return detail::gaussian_cross_entropy(
        kernel_logit_difference(dimension, kappa, angle, context_length, learning_rate));
  });
}

/// Expected cross entropy of the context-adaptive step over random queries of two classes.
///
/// \f[ \int_0^{\pi/2} 2 R_d \cos^{d-2}\alpha\; E_g \log\left(1 + e^{-(\mu + g s)}\right) d\alpha,\quad
///     \mu, s^2\ \text{of adaptive\_logit\_difference to order}\ 1/n \f]
///
/// Source    derived: docs/theory/classification.md#risk; Gaussian context noise, moments by the delta method.
/// Units     nats; gain = c in nats, kappa = 1/sigma^2.
/// Domain    as kernel_cross_entropy; an approximation for v/n << 1, which no argument is refused for.
/// Limits    gain = 0 or kappa = 0: log 2; kappa -> 0 with gain times kappa fixed: linear_cross_entropy, at the
///           learning rate gain kappa n/(n + 1) if the query is a key.
/// Errors    as kernel_cross_entropy.
/// Accuracy  of the integral, as kernel_cross_entropy; of the approximation, adaptive_cross_entropy_error of
///           two_class_risk_range.hpp: at kappa = 8, n = 40, gain 8 in three dimensions the loss is 18% larger.
template <Real T>
T adaptive_cross_entropy(std::int64_t dimension, const T& kappa, std::int64_t context_length, const T& gain,
                         QueryToken query) {
  adaptive_logit_difference(dimension, kappa, T(0), context_length, gain, query);
  return detail::query_average<T>(dimension, [&](const T& angle) {
    const auto logits = adaptive_logit_difference(dimension, kappa, angle, context_length, gain, query);
    return detail::gaussian_cross_entropy(LogitMoments<T>{logits.mean, logits.variance});
  });
}

}  // namespace incontext::classification
