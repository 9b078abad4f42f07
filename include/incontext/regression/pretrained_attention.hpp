#pragma once

#include <cstdint>

#include "incontext/core/compiled.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/ridge_inverse.hpp"
#include "incontext/regression/input_rows.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/regressable.hpp"

namespace incontext::regression {

/// The pretrained attention of arXiv 2511.01292: ridge regression with the law's covariance in place of the context's.
///
/// \f[ M = \left(\Sigma + \tfrac{\sigma^2}{l} W^{-1}\right)^{-1}
///     = C \left(C^T\Sigma C + \tfrac{\sigma^2}{l} I\right)^{-1} C^T,\quad
///     v_x = \tfrac{\sigma^2}{l}\Sigma^{-1}W^{-1}\mu_w,\quad v_y = 1,\qquad W = C C^T \f]
///
/// It is where training at temperature 1 ends as l -> infinity. At finite l training ends at trained_attention.
///
///     const auto attention = regression::pretrained_attention(task, /*context_length=*/40);
///
/// Source    arXiv 2511.01292 Proposition 4.4, eqs. (17), (57)-(64).
/// Shapes    (task: d, context_length l) -> attention: d
/// Units     M in one over input units squared (scores dimensionless).
/// Domain    l >= 2.
/// Limits    no noise or l -> infinity: M = Sigma^-1, v_x = 0.
/// Errors    std::invalid_argument for l < 2.
/// Accuracy  eps times the condition of Sigma and W: 40 eps of the norm of M and v_x for covariances of condition 40
///           (tests/regression/pretrained_attention_50digits.cpp).
template <Real T, class M = Matrix<T>>
Attention<T, M> pretrained_attention(const LinearTask<T, M>& task, std::int64_t context_length) {
  require_context_length("pretrained_attention", context_length);
  const M& sigma = task.input_covariance();
  const numerics::Cholesky<T, M> prior(task.task_covariance());
  const T ridge = task.noise_variance() / math::from_count<T>(context_length);
  return {.key_query = detail::ridge_inverse<T>(sigma, prior, ridge),
          .input_value = ridge * numerics::Cholesky<T, M>(sigma).solve(prior.solve(task.task_mean())),
          .label_value = T(1.0)};
}

/// The attention that pretraining on a data set leads to: pretrained_attention with Sigma the covariance of all
/// pretraining inputs, centered once and divided by their number.
///
/// Source    arXiv 2511.01292 eqs. (57)-(64), with the stacked inputs of all prompts.
/// Shapes    (inputs: one row per input, N x d; task_mean: d; task_covariance: d x d) -> attention: d
/// Domain    N > d, no constant and no collinear column; task_covariance positive definite; noise_variance >= 0.
/// Limits    N -> infinity: pretrained_attention of the law of the inputs.
/// Errors    std::invalid_argument for shapes and too few rows, std::domain_error for values; columns by number.
/// Accuracy  as pretrained_attention.
template <Real T>
Attention<T> pretrained_attention_from_data(const Matrix<T>& inputs, const Vector<T>& task_mean,
                                            const Matrix<T>& task_covariance, const T& noise_variance,
                                            std::int64_t context_length) {
  require_regressable(inputs);
  const InputRows<T> rows(inputs);
  const LinearTask<T> task(
      {Vector<T>::Zero(inputs.cols()), rows.covariance(), task_mean, task_covariance, noise_variance});
  return pretrained_attention(task, context_length);
}

INCONTEXT_COMPILED(regression_pretrained_attention, pretrained_attention<double>);
INCONTEXT_COMPILED(regression_pretrained_attention, pretrained_attention<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED(regression_pretrained_attention, pretrained_attention_from_data<double>);

}  // namespace incontext::regression
