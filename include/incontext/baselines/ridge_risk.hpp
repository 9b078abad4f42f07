#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/baselines/task_variances.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"

namespace incontext::baselines {

/// The mean squared error of ridge regression on the examples of a context, at finite size, for any penalty.
///
/// \f[ \sigma^2 + \psi^2 (d - l)_+ + \int \rho(x)\, \frac{\psi^2\lambda^2 + \sigma^2 x}{(x + \lambda)^2}\,dx,\quad
///     \hat w = (X^T X + \lambda I)^{-1} X^T y \f]
///
/// The mean is over inputs, task, noise and a new query with its noise.
///
///     const baselines::WishartSpectrum<double> at_40(40, 20);
///     const double error = baselines::ridge_risk(at_40, {.noise_variance = 0.1, .task_variance = 0.05}, 1.0);
///
/// Source    derived: docs/theory/baselines.md#ridge.
/// Shapes    (spectrum of l examples in d dimensions, task) -> scalar
/// Units     penalty: squared input units times examples; the risk: label units squared.
/// Domain    variances >= 0, penalty >= 0.
/// Limits    penalty = 0: least_squares_risk. penalty -> infinity: the answer 0, sigma^2 + psi^2 d.
/// Errors    std::domain_error for negative or not finite arguments.
/// Accuracy  1e-13 of the risk for min(l, d) <= 5 (reference values of docs/theory/baselines.md#pfaffian), beyond it
///           that of WishartSpectrum. The mean of 1/x^2 does not exist where |d - l| <= 3, so that digits are lost
///           there for penalties below eps d.
template <Real T>
T ridge_risk(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task, const T& penalty) {
  require_task_variances("ridge_risk", task);
  require_non_negative("ridge_risk", "penalty", penalty);
  const T& noise = task.noise_variance;
  const T& prior = task.task_variance;
  const T learned = spectrum.mean_sum([&](const T& x) {
    const T kept = x / (x + penalty), lost = penalty / (x + penalty);
    return T(prior * lost * lost + noise * kept / (x + penalty));
  });
  return noise + prior * math::from_count<T>(spectrum.zeros()) + learned;
}

/// The Bayes risk of in-context linear regression at finite size: the floor that no predictor can be below.
///
/// \f[ \sigma^2 + \psi^2 (d - l)_+ + \sigma^2\int\frac{\rho(x)}{x + \lambda}\,dx,\quad
///     \lambda = \frac{\sigma^2}{\psi^2} \f]
///
/// It is ridge_risk at the penalty sigma^2 / psi^2. Its limit for large d and l is
/// regression::centered_ridge_risk_equivalent. At d = l = 20 that is 2.2% below for noise 0.1 and tasks of
/// variance 0.05, and 7.2% for inputs of variance 1.5 and tasks of variance 0.25. The functions of regression/
/// center the context, which costs one example: their context_length is l + 1.
///
///     const double floor = baselines::bayes_risk(spectrum, variances);
///
/// Source    derived: docs/theory/baselines.md#ridge.
/// Shapes    (spectrum of l examples in d dimensions, task) -> scalar
/// Units     label units squared.
/// Domain    variances >= 0.
/// Limits    noise_variance = 0: psi^2 (d - l), or 0. task_variance = 0: sigma^2. No examples: sigma^2 + psi^2 d.
/// Errors    std::domain_error for negative or not finite variances.
/// Accuracy  as ridge_risk.
template <Real T>
T bayes_risk(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task) {
  require_task_variances("bayes_risk", task);
  const T& noise = task.noise_variance;
  const T& prior = task.task_variance;
  // noise psi^2 / (psi^2 x + noise), which is finite where the prior or the noise is 0
  const T learned = spectrum.mean_sum([&](const T& x) { return T(noise * (prior / (prior * x + noise))); });
  const T unseen = prior * math::from_count<T>(spectrum.zeros());
  return noise + unseen + (noise > T(0) ? learned : T(0));
}

/// The mean squared error of least squares, of least norm where the examples are fewer than the dimensions.
///
/// \f[ \sigma^2 + \psi^2 (d - l)_+ + \sigma^2\,\frac{\min(d, l)}{|d - l| - 1} \f]
///
/// Source    the mean of an inverse Wishart matrix; docs/theory/baselines.md#least-squares. For l > d + 1 it holds for
///           normal inputs of every covariance and for every task.
/// Shapes    (examples, dimension, task) -> scalar
/// Units     label units squared.
/// Domain    examples >= 0, dimension >= 1, variances >= 0.
/// Limits    |d - l| <= 1 with examples and noise: infinity, because the mean does not exist. No noise:
///           psi^2 (d - l)_+.
/// Errors    std::invalid_argument for sizes, std::domain_error for variances.
/// Accuracy  4 eps (tests/baselines/ridge_risk.cpp).
template <Real T>
T least_squares_risk(std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task) {
  require_at_least("least_squares_risk", "examples", examples, std::int64_t{0});
  require_at_least("least_squares_risk", "dimension", dimension, std::int64_t{1});
  require_task_variances("least_squares_risk", task);
  const T unseen = task.task_variance * math::from_count<T>(dimension > examples ? dimension - examples : 0);
  const std::int64_t apart = dimension > examples ? dimension - examples : examples - dimension;
  if (examples == 0 || !(task.noise_variance > T(0))) return task.noise_variance + unseen;
  if (apart <= 1) return std::numeric_limits<T>::infinity();
  const T fitted = math::from_count<T>((std::min)(examples, dimension)) / math::from_count<T>(apart - 1);
  return task.noise_variance * (T(1) + fitted) + unseen;
}

/// The information that the labels of a context hold about its task, given its inputs.
///
/// \f[ I = \frac12\int\rho(x)\,\log\Bigl(1 + \frac{\psi^2 x}{\sigma^2}\Bigr)dx \f]
///
/// As in Shannon's random coding, a context tells which of k drawn tasks it has for large l and d if log k is below I,
/// and not if it is above. right_task_weight has the weight of the right task at finite size.
///
/// Source    derived: docs/theory/baselines.md#information.
/// Shapes    (spectrum of l examples in d dimensions, task) -> scalar
/// Units     nats.
/// Domain    noise_variance > 0, task_variance >= 0.
/// Limits    no examples or task_variance = 0: 0.
/// Errors    std::domain_error outside.
/// Accuracy  as ridge_risk.
template <Real T>
T mutual_information(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task) {
  require_task_variances("mutual_information", task);
  require_positive("mutual_information", "noise_variance", task.noise_variance);
  using std::log1p;
  const T ratio = task.task_variance / task.noise_variance;
  return spectrum.mean_sum([&](const T& x) { return T(log1p(T(ratio * x))); }) / T(2);
}

INCONTEXT_COMPILED(baselines_ridge_risk, ridge_risk<double>);
INCONTEXT_COMPILED(baselines_ridge_risk, bayes_risk<double>);
INCONTEXT_COMPILED(baselines_ridge_risk, least_squares_risk<double>);
INCONTEXT_COMPILED(baselines_ridge_risk, mutual_information<double>);

}  // namespace incontext::baselines
