#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

/// Linear attention on contexts whose inputs are correlated from position to position: cov(x_i, x_j) = K_ij I with
/// K_ii = 1, and a query that is independent of them.
namespace incontext::baselines {

/// The mean squared correlation of two examples of a context, themselves included, which is all that one layer sees of
/// the correlations.
///
/// \f[ T = \frac{1}{l^2} \mathrm{tr}\,K^2 = \frac{1}{l^2} \sum_{ij} K_{ij}^2 \f]
///
///     const double correlation = baselines::squared_correlation(correlations);   // 1 / l for independent examples
///
/// Source    derived: docs/theory/baselines.md#correlated-contexts.
/// Shapes    (correlations: l x l) -> scalar
/// Domain    l >= 1; a symmetric matrix of ones on the diagonal, with entries between -1 and 1.
/// Limits    the identity: 1 / l. All ones: 1.
/// Errors    std::invalid_argument for the shape, std::domain_error for entries.
/// Accuracy  rounding.
inline double squared_correlation(const Eigen::MatrixXd& correlations) {
  constexpr auto where = "squared_correlation";
  require_at_least(where, "the number of correlations", correlations.rows(), Eigen::Index{1});
  require_same_size(where, "correlations", correlations.cols(), correlations.rows());
  for (Eigen::Index i = 0; i < correlations.rows(); ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double entry = correlations(i, j);
      if (entry == correlations(j, i) && (i == j ? entry == 1 : std::abs(entry) <= 1)) continue;
      throw_domain_error(where, "an entry is no correlation", entry, "symmetric, between -1 and 1, 1 on the diagonal");
    }
  }
  const auto length = static_cast<double>(correlations.rows());
  return correlations.squaredNorm() / (length * length);
}

/// The same where the correlation is falling exponentially with the distance of positions, K_ij = r^|i - j|.
///
/// \f[ T = \frac1l + \frac{2}{l^2}\sum_{k=1}^{l-1} (l - k)\,r^{2k} \f]
///
/// Source    derived: docs/theory/baselines.md#correlated-contexts; summed as it stands.
/// Shapes    (examples l, neighbor_correlation r) -> scalar
/// Domain    examples >= 1, |neighbor_correlation| <= 1.
/// Limits    neighbor_correlation = 0: 1 / l. 1: 1. Many examples: (1 + r^2) / (1 - r^2) / l.
/// Errors    std::invalid_argument for examples, std::domain_error for the correlation.
/// Accuracy  1e-14 relative: tests/baselines/correlated_context.cpp.
template <Real T>
T exponential_squared_correlation(std::int64_t examples, const T& neighbor_correlation) {
  constexpr auto where = "exponential_squared_correlation";
  require_at_least(where, "examples", examples, std::int64_t{1});
  const T square = neighbor_correlation * neighbor_correlation;
  if (!(square <= T(1))) {
    throw_domain_error(where, "neighbor_correlation is no correlation", neighbor_correlation, "-1 to 1");
  }
  const T l = math::from_count<T>(examples);
  T sum = T(1), power = T(1);
  for (std::int64_t k = 1; k < examples && power > std::numeric_limits<T>::epsilon() / (T(64) * l); ++k) {
    power = power * square;
    sum += T(2) * power * (T(1) - math::from_count<T>(k) / l);
  }
  return sum / l;
}

/// The mean squared error of one layer of linear attention on correlated contexts: the answer is gain times
/// x_q X^T y / l.
///
/// \f[ \sigma^2 + d \psi^2 (1 - \gamma)^2
///     + \gamma^2 d \Bigl( T (d + 1) \psi^2 + \frac{\sigma^2}{l} \Bigr) \f]
///
/// Correlated examples show fewer directions, so that the signal's own noise is that of 1 / T independent examples. The
/// labels' noise is independent, and is still averaged over all l: no one effective length serves both.
///
/// Source    the question: Letey et al. (2026), in-context learning from correlated sequences; the error derived:
///           docs/theory/baselines.md#correlated-contexts.
/// Shapes    (examples, dimension, squared_correlation T, task, gain) -> scalar
/// Units     label units squared; gain dimensionless.
/// Domain    examples >= 1, dimension >= 1; 1 / l <= squared_correlation <= 1; variances >= 0; gain finite.
/// Limits    T = 1 / l: descent_risk of one layer. gain = 0: sigma^2 + psi^2 d.
/// Errors    std::invalid_argument for sizes, std::domain_error for values.
/// Accuracy  8 eps: tests/baselines/correlated_context.cpp.
template <Real T>
T correlated_layer_risk(std::int64_t examples, std::int64_t dimension, const T& squared_correlation,
                        const TaskVariances<T>& task, const T& gain);

/// The gain at which one layer of linear attention has the least error on correlated contexts, and that error.
///
/// Units     gain dimensionless; risk: label units squared.
template <Real T>
struct CorrelatedLayer {
  T gain;
  T risk;
};

/// The best layer of linear attention on correlated contexts.
///
/// \f[ \gamma = \frac{1}{1 + (d + 1) T + \sigma^2 / (l \psi^2)}, \qquad \sigma^2 + d \psi^2 (1 - \gamma) \f]
///
/// It is the best of all matrices in the place of the gain, because every rotation leaves the model as it is.
///
///     const double correlation = baselines::exponential_squared_correlation(40, 0.7);
///     const auto layer = baselines::optimal_correlated_layer<double>(40, 20, correlation, variances);
///
/// Source    derived: docs/theory/baselines.md#correlated-contexts.
/// Shapes    (examples, dimension, squared_correlation T, task) -> gain and risk
/// Domain    as correlated_layer_risk.
/// Limits    T = 1 / l: optimal_layers of one layer. task_variance = 0: gain 0.
/// Errors    as correlated_layer_risk.
/// Accuracy  8 eps: tests/baselines/correlated_context.cpp.
template <Real T>
CorrelatedLayer<T> optimal_correlated_layer(std::int64_t examples, std::int64_t dimension, const T& squared_correlation,
                                            const TaskVariances<T>& task);

namespace detail {

template <Real T>
void require_correlated(const char* where, std::int64_t examples, std::int64_t dimension, const T& squared_correlation,
                        const TaskVariances<T>& task) {
  require_at_least(where, "examples", examples, std::int64_t{1});
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  require_task_variances(where, task);
  // 1 / l up to rounding of a sum
  const T least = (T(1) - T(64) * std::numeric_limits<T>::epsilon()) / math::from_count<T>(examples);
  if (!(least <= squared_correlation && squared_correlation <= T(1) + T(64) * std::numeric_limits<T>::epsilon())) {
    throw_domain_error(where, "squared_correlation is out of range", squared_correlation, "1 / examples to 1");
  }
}

}  // namespace detail

template <Real T>
T correlated_layer_risk(std::int64_t examples, std::int64_t dimension, const T& squared_correlation,
                        const TaskVariances<T>& task, const T& gain) {
  detail::require_correlated("correlated_layer_risk", examples, dimension, squared_correlation, task);
  require_finite("correlated_layer_risk", "gain", gain);
  const T d = math::from_count<T>(dimension);
  const T spread =
      squared_correlation * (d + T(1)) * task.task_variance + task.noise_variance / math::from_count<T>(examples);
  return task.noise_variance + d * (task.task_variance * (T(1) - gain) * (T(1) - gain) + gain * gain * spread);
}

template <Real T>
CorrelatedLayer<T> optimal_correlated_layer(std::int64_t examples, std::int64_t dimension, const T& squared_correlation,
                                            const TaskVariances<T>& task) {
  detail::require_correlated("optimal_correlated_layer", examples, dimension, squared_correlation, task);
  if (!(task.task_variance > T(0))) return {T(0), task.noise_variance};
  const T d = math::from_count<T>(dimension);
  const T spread =
      squared_correlation * (d + T(1)) + task.noise_variance / (math::from_count<T>(examples) * task.task_variance);
  // psi^2 (1 - gain), without that difference
  return {T(T(1) / (T(1) + spread)), T(task.noise_variance + d * task.task_variance * spread / (T(1) + spread))};
}

INCONTEXT_COMPILED(baselines_correlated_context, exponential_squared_correlation<double>);
INCONTEXT_COMPILED(baselines_correlated_context, correlated_layer_risk<double>);
INCONTEXT_COMPILED(baselines_correlated_context, optimal_correlated_layer<double>);

}  // namespace incontext::baselines
