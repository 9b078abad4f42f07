#pragma once

#include <cstdint>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/moment_ratio_from_scores.hpp"
#include "incontext/regression/optimal_temperature.hpp"

namespace incontext::regression {

/// Two moments of raw attention scores and their ratio, the heuristic temperature.
///
/// Units     first_moment and ratio the scores', second_moment their square.
template <Real T>
struct MomentRatio {
  T second_moment;
  T first_moment;
  T ratio;
};

/// The moment-ratio heuristic for the temperature, from the law of the inputs.
///
/// \f[ r = \frac{E[z_j^2]}{E[z_q]} = \frac{\mathrm{tr}(M^T\Sigma M\Sigma)}{\mathrm{tr}(M\Sigma)},\quad
///     z_j = x_j^T M x_q,\ z_q = x_q^T M x_q \f]
///
/// Source    arXiv 2511.01292 eqs. (20)-(22), (130)-(138); inputs taken about their mean.
/// Shapes    (attention: d, task: d) -> three scalars
/// Units     as MomentRatio.
/// Domain    tr(M Sigma) > 0.
/// Limits    the isotropic family: r = m a.
/// Errors    std::domain_error if the mean self-score tr(M Sigma) is not positive: the heuristic has no meaning there.
///           std::invalid_argument for shapes.
/// Accuracy  8 eps for d <= 8 (tests/regression/pretrained_attention_50digits.cpp); the moments are those of drawn
///           scores (tests/regression/moment_ratio.cpp).
template <Real T>
MomentRatio<T> moment_ratio(const Attention<T>& attention, const LinearTask<T>& task) {
  validate(attention, task.dimension(), "moment_ratio");
  const Matrix<T> ms = product<T>(attention.key_query, task.input_covariance());
  const T first = ms.trace();
  if (!(first > T(0.0)))
    throw_domain_error("moment_ratio", "the mean self-score is not positive", first, "more than 0");
  const T second = trace_of_product<T>(product<T>(attention.key_query.transpose(), task.input_covariance()), ms);
  return {.second_moment = second, .first_moment = first, .ratio = second / first};
}

/// The moment ratio with the finite-context correction of the isotropic family.
///
/// \f[ \tau \approx r \left(1 + \frac{d}{l}\right) + \frac{\sigma^2 m v}{b l} \f]
///
/// Source    arXiv 2511.01292 eq. (22).
/// Shapes    scalars; task.input_variance does not enter: r carries it
/// Units     those of the scores.
/// Domain    l >= 2, dimension >= 1, b > 0, noise_variance >= 0.
/// Limits    equals optimal_temperature_isotropic for r = m a and v = 1. l -> infinity: r.
/// Errors    std::invalid_argument for counts, std::domain_error for variances.
/// Accuracy  6 eps (tests/regression/moment_ratio.cpp).
template <Real T>
T corrected_moment_ratio(const T& ratio, const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                         std::int64_t context_length) {
  require_context_length("corrected_moment_ratio", context_length);
  detail::require_isotropic("corrected_moment_ratio", task);
  const T l = math::from_count<T>(context_length);
  return ratio * (T(1.0) + math::from_count<T>(task.dimension) / l) +
         task.noise_variance * attention.key_query_scale * attention.label_value / (task.task_variance * l);
}

}  // namespace incontext::regression
