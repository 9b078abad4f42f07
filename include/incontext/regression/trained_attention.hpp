#pragma once

#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/ridge_inverse.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression {

namespace detail {

/// The layer with (k Sigma + (tr(Sigma W) + sigma^2) / l W^-1)^-1 for its scores, v_x = 0 and v_y = 1.
template <Real T, class M>
Attention<T, M> attention_of_least_error(const char* name, const LinearTask<T, M>& task, std::int64_t context_length,
                                         const T& k) {
  require_context_length(name, context_length);
  const T input_mean = task.input_mean().norm(), task_mean = task.task_mean().norm();
  if (!(input_mean == T(0))) throw_domain_error(name, "the inputs have a mean, of length", input_mean, "0");
  if (!(task_mean == T(0))) throw_domain_error(name, "the tasks have a mean, of length", task_mean, "0");
  const T label_variance = trace_of_product<T>(task.input_covariance(), task.task_covariance()) + task.noise_variance();
  const M scaled = task.input_covariance() * k;
  return {.key_query = ridge_inverse<T>(scaled, numerics::Cholesky<T, M>(task.task_covariance()),
                                        label_variance / math::from_count<T>(context_length)),
          .input_value = Vector<T>::Zero(task.dimension()),
          .label_value = T(1.0)};
}

}  // namespace detail

/// The approximate softmax attention of least error on a task law at temperature 1, among all M beside v_y = 1.
///
/// \f[ M = \left(\Sigma + \rho W^{-1}\right)^{-1},\quad \rho = \frac{\mathrm{tr}(\Sigma W) + \sigma^2}{l},\qquad
///     v_x = 0,\quad v_y = 1 \f]
///
/// Training from random weights ends there. pretrained_attention, the paper's, has sigma^2 / l in place of rho and is
/// its limit of long contexts. On the law of training the optimal temperature of this layer is 1. If v_y is trained
/// too and the offset kept, the error has an infimum and no minimum: v_y M tends to this M, and v_y to 0.
///
///     const auto attention = regression::trained_attention(task, /*context_length=*/40);
///
/// Source    derived: docs/theory/training.md#population-optima; its limit is Proposition 4.4 of arXiv 2511.01292.
/// Shapes    (task: d, context_length l) -> attention: d
/// Units     M in one over input units squared (scores dimensionless).
/// Domain    l >= 2; inputs and tasks of mean 0.
/// Limits    l -> infinity: M = Sigma^-1.
/// Errors    std::invalid_argument for l < 2; std::domain_error for inputs or tasks with a mean.
/// Accuracy  40 eps of the norm of M for covariances of condition 40 (tests/regression/trained_attention.cpp).
template <Real T, class M = Matrix<T>>
Attention<T, M> trained_attention(const LinearTask<T, M>& task, std::int64_t context_length) {
  return detail::attention_of_least_error<T>("trained_attention", task, context_length, T(1.0));
}

/// The linear attention of least error on a task law at temperature 1, with v_x = 0 and v_y = 1.
///
/// \f[ M = \left(\tfrac{l+1}{l}\Sigma + \tfrac{\mathrm{tr}(\Sigma W) + \sigma^2}{l} W^{-1}\right)^{-1} \f]
///
/// Its error depends on v_y M alone, so that a layer trained with its values has this M divided by its v_y.
///
/// Source    derived: docs/theory/training.md#population-optima.
/// Shapes    (task: d, context_length l) -> attention: d
/// Units     M in one over input units squared (scores dimensionless).
/// Domain    l >= 2; inputs and tasks of mean 0.
/// Limits    l -> infinity: M = Sigma^-1.
/// Errors    std::invalid_argument for l < 2; std::domain_error for inputs or tasks with a mean.
/// Accuracy  as trained_attention.
template <Real T, class M = Matrix<T>>
Attention<T, M> trained_linear_attention(const LinearTask<T, M>& task, std::int64_t context_length) {
  const T l = math::from_count<T>(context_length);
  return detail::attention_of_least_error<T>("trained_linear_attention", task, context_length, (l + T(1.0)) / l);
}

INCONTEXT_COMPILED(regression_trained_attention, trained_attention<double>);
INCONTEXT_COMPILED(regression_trained_attention, trained_attention<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED(regression_trained_attention, trained_linear_attention<double>);
INCONTEXT_COMPILED(regression_trained_attention, trained_linear_attention<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
