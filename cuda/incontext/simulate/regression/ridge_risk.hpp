#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/ridge_risk_trial.hpp"

namespace incontext::simulate {

/// The risk of the posterior mean, averaged over contexts: the Bayes risk of in-context regression.
///
/// \f[ \sigma^2 + E\,\mathrm{tr}(\Lambda P) \f]
///
///     const auto risk = simulate::posterior_risk(task, 40, {.seed = 1, .trials = 65536}).estimates[0];
///
/// Source    linear regression with a normal prior: regression::posterior. Of isotropic tasks with centered inputs
///           baselines::bayes_risk is its exact value.
/// Shapes    one estimate.
/// Units     label units squared.
/// Domain    context_length >= 1, noise_variance > 0.
/// Errors    std::invalid_argument for context_length or options, std::domain_error for the noise variance.
/// Accuracy  standard error in the result, and a bound on its rounding; double throughout:
///           tests/simulate/regression/ridge_risk.cpp.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
inline Simulation posterior_risk(const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const Options& options);

/// The same when context and query are rows of a data set, drawn with replacement.
///
/// Source    as above, for the uniform law on the rows.
/// Shapes    (rows: n x d, task_covariance: d x d) -> one estimate
/// Units     label units squared.
/// Domain    as above; task_covariance positive definite; the rows' second moment positive definite.
/// Errors    std::invalid_argument for context_length, options or shapes; std::domain_error for noise_variance, or for
///           a matrix that is not positive definite.
/// Accuracy  as above.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
inline Simulation posterior_risk_on_rows(const regression::Matrix<double>& rows,
                                         const regression::Matrix<double>& task_covariance, double noise_variance,
                                         std::int64_t context_length, const Options& options);

/// The risk of the ridge (11) on the centered context, averaged over contexts. For centered normal inputs it is that of
/// the posterior mean with one example less.
///
/// Source    arXiv 2511.01292 eqs. (11), (23)-(32); regression::centered_ridge_risk_equivalent is its limit.
/// Shapes    one estimate.
/// Units     label units squared.
/// Domain    context_length >= 2, noise_variance > 0.
/// Errors    as posterior_risk.
/// Accuracy  as posterior_risk.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
inline Simulation centered_ridge_risk(const regression::LinearTask<double>& task, std::int64_t context_length,
                                      const Options& options);

/// The same when context and query are rows of a data set, drawn with replacement.
///
/// Source    as above, for the uniform law on the rows.
/// Shapes    (rows: n x d, task_covariance: d x d) -> one estimate
/// Units     label units squared.
/// Domain    as posterior_risk_on_rows, context_length >= 2.
/// Errors    as posterior_risk_on_rows.
/// Accuracy  as posterior_risk.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
inline Simulation centered_ridge_risk_on_rows(const regression::Matrix<double>& rows,
                                              const regression::Matrix<double>& task_covariance, double noise_variance,
                                              std::int64_t context_length, const Options& options);

// Runs the trial of the ridge, with or without the context's means.
namespace detail {

inline void require_ridge(std::string_view where, std::int64_t context_length, std::int64_t least,
                          double noise_variance) {
  require_at_least(where, "context_length", context_length, least);
  require_positive(where, "noise_variance", noise_variance);
}

/// Runs the ridge trial with numbers (a transform or rows) for make_gram and the factor of C^T Lambda C. The
/// rounding error of its factorization in eps is the condition number of 1 + gram / noise, bounded by the mean trace.
template <class MakeGram>
Simulation run_ridge(const regression::Matrix<double>& numbers, const regression::Matrix<double>& second_moment,
                     double noise_variance, double gram_trace, const Options& options, const MakeGram& make_gram) {
  const Device device = resolve(options.device, options.gpu);
  const regression::Matrix<double> factor = plain_cholesky(second_moment);
  const std::vector<double> number_list = by_rows<double>(numbers);
  const std::vector<double> factor_list = by_rows<double>(factor);
  Simulation simulation = with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<double> number_memory(number_list.begin(), number_list.end());
    const typename System::template Memory<double> factor_memory(factor_list.begin(), factor_list.end());
    const auto gram = make_gram(address(number_memory));
    using Gram = std::remove_const_t<decltype(gram)>;
    return run_on<System>(
        device, RidgeRiskTrial<Gram>{gram, static_cast<int>(factor.rows()), noise_variance, address(factor_memory)},
        options);
  });
  statistics::Estimate& estimate = simulation.estimates.front();
  if (estimate.count > 0) estimate.rounding += gram_trace / noise_variance * eps_of<double> * estimate.mean;
  return simulation;
}

/// `removes_mean`: the ridge on the centered context, else the posterior mean.
inline Simulation ridge_risk(std::string_view where, bool removes_mean, const regression::LinearTask<double>& task,
                             std::int64_t context_length, const Options& options) {
  validate(options);
  require_ridge(where, context_length, removes_mean ? 2 : 1, task.noise_variance());
  const regression::Matrix<double> prior = plain_cholesky(task.task_covariance());
  const regression::Matrix<double> input = plain_cholesky(task.input_covariance());
  const Eigen::Index d = input.rows();
  regression::Matrix<double> numbers(d + 1, d);  // the transform, and the mean below it
  numbers.topRows(d) = plain_product(prior.transpose(), input);
  numbers.row(d) = plain_product(task.input_mean().transpose(), prior);
  const double kept_mean = removes_mean ? 0.0 : numbers.row(d).squaredNorm();
  return run_ridge(numbers, plain_product(prior.transpose(), plain_product(task.input_second_moment(), prior)),
                   task.noise_variance(),
                   static_cast<double>(context_length) * (numbers.topRows(d).squaredNorm() + kept_mean), options,
                   [&](const double* address) {
                     return GaussianGram{address, removes_mean ? nullptr : address + d * d, context_length};
                   });
}

inline Simulation ridge_risk_on_rows(std::string_view where, bool removes_mean, const regression::Matrix<double>& rows,
                                     const regression::Matrix<double>& task_covariance, double noise_variance,
                                     std::int64_t context_length, const Options& options) {
  validate(options);
  require_ridge(where, context_length, removes_mean ? 2 : 1, noise_variance);
  regression::require_positive_definite(where, "task_covariance", task_covariance, rows.cols());
  require_at_least(where, "rows.rows()", rows.rows(), Eigen::Index{1});
  const regression::Matrix<double> second_moment =
      plain_product(rows.transpose(), rows) / static_cast<double>(rows.rows());
  regression::Matrix<double> tokens = rows;
  if (removes_mean) tokens.rowwise() -= plain_mean(rows).transpose();
  regression::require_positive_definite(where, "rows' second moment", second_moment, rows.cols());
  const regression::Matrix<double> prior = plain_cholesky(task_covariance);
  const regression::Matrix<double> transformed = plain_product(tokens, prior);
  const double share = static_cast<double>(context_length) / static_cast<double>(rows.rows());
  return run_ridge(transformed, plain_product(prior.transpose(), plain_product(second_moment, prior)), noise_variance,
                   share * transformed.squaredNorm(), options, [&](const double* numbers) {
                     return RowGram{numbers, static_cast<std::uint32_t>(rows.rows()), context_length, removes_mean};
                   });
}

}  // namespace detail

inline Simulation posterior_risk(const regression::LinearTask<double>& task, std::int64_t context_length,
                                 const Options& options) {
  return detail::ridge_risk("simulate::posterior_risk", false, task, context_length, options);
}

inline Simulation posterior_risk_on_rows(const regression::Matrix<double>& rows,
                                         const regression::Matrix<double>& task_covariance, double noise_variance,
                                         std::int64_t context_length, const Options& options) {
  return detail::ridge_risk_on_rows("simulate::posterior_risk_on_rows", false, rows, task_covariance, noise_variance,
                                    context_length, options);
}

inline Simulation centered_ridge_risk(const regression::LinearTask<double>& task, std::int64_t context_length,
                                      const Options& options) {
  return detail::ridge_risk("simulate::centered_ridge_risk", true, task, context_length, options);
}

inline Simulation centered_ridge_risk_on_rows(const regression::Matrix<double>& rows,
                                              const regression::Matrix<double>& task_covariance, double noise_variance,
                                              std::int64_t context_length, const Options& options) {
  return detail::ridge_risk_on_rows("simulate::centered_ridge_risk_on_rows", true, rows, task_covariance,
                                    noise_variance, context_length, options);
}

}  // namespace incontext::simulate
