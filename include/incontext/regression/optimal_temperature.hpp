#pragma once

#include <cstdint>
#include <limits>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

/// The temperature that minimizes the error of approximate softmax attention on a Gaussian task.
///
/// \f[ \tau^* = g_2 / g_1 \f]
///
///     const double temperature = regression::optimal_temperature(attention, task, 40);
///
/// `convention` is that of generalization_error.
///
/// Source    arXiv 2511.01292 Theorem 4.3, eqs. (16), (120)-(129), with the exact coefficients of generalization_error.
/// Shapes    (attention: d, task: d, context_length l) -> scalar
/// Units     those of the scores.
/// Domain    as generalization_error.
/// Limits    infinity where no positive temperature helps (g_1 <= 0).
/// Errors    as generalization_error.
/// Accuracy  that of g_1 and g_2; a search on the error curve agrees (tests/regression/optimal_temperature.cpp).
template <Real T, class M = Matrix<T>>
T optimal_temperature(const Attention<T, M>& attention, const LinearTask<T, M>& task, std::int64_t context_length,
                      ErrorConvention convention = {}) {
  return generalization_error(attention, task, context_length, convention).optimal_temperature();
}

/// The parameters of the attention of the isotropic family: M = m I, v_x = 0.
///
/// Source    arXiv 2511.01292 section 4.4.
/// Units     key_query_scale in temperature per input unit squared; label_value dimensionless.
template <Real T>
struct IsotropicAttention {
  T key_query_scale = T(1.0);
  T label_value = T(1.0);
};

/// The optimal temperature of the isotropic family (inputs N(0, a I), task vectors N(0, b I), attention m I, v_y = v),
/// exact at every context length.
///
/// \f[ \tau^* = m v \left( a \left(1 + \frac{d}{l}\right) + \frac{\sigma^2}{b l} \right) \f]
///
/// Source    arXiv 2511.01292 eqs. (18)-(19); exact, not leading order: docs/theory/regression.md#gaussian-inputs.
/// Shapes    scalars
/// Units     those of the scores.
/// Domain    dimension >= 1, a > 0, b > 0, noise_variance >= 0, l >= 2; query excluded, either offset convention.
/// Limits    m v <= 0: infinity, since no positive temperature helps. l -> infinity: m v a.
/// Errors    std::invalid_argument for counts, std::domain_error for variances.
/// Accuracy  6 eps; 40 eps against the parabola (tests/regression/optimal_temperature.cpp).
template <Real T>
T optimal_temperature_isotropic(const IsotropicAttention<T>& attention, const IsotropicTask<T>& task,
                                std::int64_t context_length) {
  require_context_length("optimal_temperature_isotropic", context_length);
  detail::require_isotropic("optimal_temperature_isotropic", task);
  const T gain = attention.key_query_scale * attention.label_value;
  if (gain <= T(0.0)) return std::numeric_limits<T>::infinity();
  const T d = math::from_count<T>(task.dimension);
  const T l = math::from_count<T>(context_length);
  return gain * (task.input_variance * (T(1.0) + d / l) + task.noise_variance / (task.task_variance * l));
}

INCONTEXT_COMPILED(regression_optimal_temperature, optimal_temperature<double>);
INCONTEXT_COMPILED(regression_optimal_temperature, optimal_temperature<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED(regression_optimal_temperature, optimal_temperature_isotropic<double>);

}  // namespace incontext::regression
