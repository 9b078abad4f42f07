#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/baselines/detail/pool_competitors.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/quadrature.hpp"

/// The posterior mean over a pool of k tasks that were drawn from the prior, which is what a memorizing predictor has at
/// best (dMMSE): each task of the pool with a weight prop. to exp(-|y - X w|^2 / (2 sigma^2)).
namespace incontext::baselines {

namespace detail {

/// int dt sech(pi t) E[c^power (1 + r c)^(-l/2)], r = 2 psi^2 (t^2 + 1/4) / sigma^2 and c a chi square of d degrees.
template <Real T>
T two_task_integral(const char* where, std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task,
                    int power) {
  using std::cosh;
  using std::exp;
  using std::log;
  const T half = math::from_count<T>(dimension) / T(2), order = half + T(power);
  const T l = math::from_count<T>(examples), ratio = T(2) * task.task_variance / task.noise_variance;
  const T norm = half * log(T(2)) + boost::math::lgamma(half);
  const T pi = math::pi<T>();
  const T end = (T(3) - log(T(std::numeric_limits<T>::epsilon()))) / pi;
  const auto at = [&](const T& t) {
    const T r = ratio * (t * t + T(1) / T(4));
    const auto log_density = [&](const T& v) {
      const T c = exp(v);
      return T(order * v - c / T(2) - l / T(2) * math::log_one_plus(T(r * c)) - norm);
    };
    return T(laws::integrate_log_concave<T>(where, log_density, T(log(T(T(2) * order)))).value / cosh(T(pi * t)));
  };
  return numerics::integrate_bump<T>(where, [&](const T& u) { return T(T(2) * end * at(T(end * (T(2) * u - T(1))))); })
      .value;
}

template <Real T>
void require_pool(const char* where, std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task) {
  require_at_least(where, "examples", examples, std::int64_t{0});
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  require_task_variances(where, task);
  require_positive(where, "noise_variance", task.noise_variance);
}

/// In the eigenvectors of X X^T, where the labels' components fit independently of each other.
inline EnergyGap energy_gap(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& labels,
                            const Eigen::VectorXd& right_task, const TaskVariances<double>& task) {
  EnergyGap gap{.constant = 0, .offsets = {}, .slopes = {}};
  if (inputs.rows() == 0) return gap;
  const double noise = task.noise_variance;
  gap.constant = -(labels - inputs * right_task).squaredNorm() / noise;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> gram(Eigen::MatrixXd{inputs * inputs.transpose()});
  const Eigen::VectorXd components = gram.eigenvectors().transpose() * labels;
  for (Eigen::Index i = 0; i < components.size(); ++i) {
    gap.offsets.push_back(components(i) * components(i) / noise);
    gap.slopes.push_back(task.task_variance * (std::max)(gram.eigenvalues()(i), 0.0) / noise);
  }
  return gap;
}

}  // namespace detail

/// The mean squared error of the posterior mean over a pool of two tasks that were drawn from the prior.
///
/// \f[ \sigma^2 + \frac{\psi^2}{2} \int_{-\infty}^\infty \frac{dt}{\cosh \pi t}\;
///     E\Bigl[c\,\Bigl(1 + \frac{2\psi^2 c}{\sigma^2}\bigl(t^2 + \tfrac14\bigr)\Bigr)^{-l/2}\Bigr],
///     \quad c \sim \chi^2_d \f]
///
/// A mean over the pool, the context and the query. It is below the Bayes risk of the prior, because the two tasks are
/// known: this is what a predictor reaches that has memorized them.
///
///     const double error = baselines::two_task_pool_risk<double>(4, 6, {.noise_variance = 0.5, .task_variance = 1.0 / 6});
///
/// Source    the predictor: arXiv 2306.15063 (dMMSE); its error derived: docs/theory/baselines.md#two-tasks.
/// Shapes    (examples, dimension, task) -> scalar
/// Units     label units squared.
/// Domain    examples >= 0, dimension >= 1, noise_variance > 0, task_variance >= 0.
/// Limits    no examples: sigma^2 + psi^2 d / 2. task_variance = 0 or many examples: sigma^2.
/// Errors    std::invalid_argument for sizes, std::domain_error for variances; numerics::QuadratureError.
/// Accuracy  1e-12: tests/baselines/pool_posterior.cpp and the reference values.
template <Real T>
T two_task_pool_risk(std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task) {
  constexpr auto where = "two_task_pool_risk";
  detail::require_pool(where, examples, dimension, task);
  return task.noise_variance +
         task.task_variance / T(2) * detail::two_task_integral(where, examples, dimension, task, 1);
}

/// The mean posterior weight of the right task of a pool of two.
///
/// \f[ 1 - \frac12 \int_{-\infty}^\infty \frac{dt}{\cosh \pi t}\;
///     E\Bigl(1 + \frac{2\psi^2 c}{\sigma^2}\bigl(t^2 + \tfrac14\bigr)\Bigr)^{-l/2}, \quad c \sim \chi^2_d \f]
///
/// Source    derived: docs/theory/baselines.md#two-tasks.
/// Shapes    (examples, dimension, task) -> scalar
/// Domain    as two_task_pool_risk.
/// Limits    no examples or task_variance = 0: 1/2. Many examples: 1.
/// Errors    as two_task_pool_risk.
/// Accuracy  1e-12: tests/baselines/pool_posterior.cpp and the reference values.
template <Real T>
T two_task_pool_weight(std::int64_t examples, std::int64_t dimension, const TaskVariances<T>& task) {
  constexpr auto where = "two_task_pool_weight";
  detail::require_pool(where, examples, dimension, task);
  return T(1) - detail::two_task_integral(where, examples, dimension, task, 0) / T(2);
}

/// The posterior weight of the right task of a pool, given its context: a mean over the pool's other tasks, of which
/// there may be more than can be drawn.
///
/// \f[ E\,a = \int_0^\infty ds\, e^{-s} \varphi(s)^{k-1}, \qquad
///     \varphi(s) = E \exp\Bigl(-s\,e^{(|y - X w|^2 - |y - X w'|^2)/(2\sigma^2)}\Bigr),
///     \quad w' \sim N(0, \psi^2 I) \f]
///
/// Given the context the other tasks fit it independently of each other, so that the right one is a needle among
/// independent competitors. In contexts that are drawn, the weight turns from 1 to 0 where log k passes the information
/// (mutual_information).
///
///     const double weight = baselines::right_task_weight(inputs, labels, right_task, variances, 1e15).value;
///
/// Source    derived: docs/theory/baselines.md#many-tasks.
/// Shapes    (inputs: l x d, labels: l, right_task: d, task, pool_size) -> scalar
/// Units     dimensionless; inputs, labels and task as in TaskVariances.
/// Domain    noise_variance > 0, task_variance >= 0, 1 <= pool_size <= 1e18 and whole; finite entries. The labels may
///           be more likely under the prior than under right_task by e^30 at most, which labels of that task exceed with
///           a probability of at most e^-30.
/// Limits    pool_size = 1: 1. No examples or task_variance = 0: 1 / pool_size.
/// Errors    std::invalid_argument for shapes, std::domain_error for values; numerics::QuadratureError.
/// Accuracy  1e-11 relative down to weights of 2e-12, not tested below; 1e-30 absolutely
///           (tests/baselines/pool_posterior.cpp and the reference values). In double.
inline numerics::Quadrature<double> right_task_weight(const Eigen::MatrixXd& inputs, const Eigen::VectorXd& labels,
                                                      const Eigen::VectorXd& right_task,
                                                      const TaskVariances<double>& task, double pool_size) {
  constexpr auto where = "right_task_weight";
  require_task_variances(where, task);
  require_positive(where, "noise_variance", task.noise_variance);
  require_same_size(where, "labels", labels.size(), inputs.rows());
  require_same_size(where, "right_task", right_task.size(), inputs.cols());
  if (!(1 <= pool_size && pool_size <= 1e18 && pool_size == std::floor(pool_size))) {
    throw_domain_error(where, "pool_size is no size of a pool", pool_size, "a whole number from 1 to 1e18");
  }
  for (const double sum : {inputs.sum(), labels.sum(), right_task.sum()}) require_finite(where, "an entry's sum", sum);
  if (pool_size == 1) return {1.0, 0.0};
  const detail::EnergyGap gap = detail::energy_gap(inputs, labels, right_task, task);
  const double surplus = gap.log_moment(-1.0).real();  // log p(y | X) - log p(y | X, w)
  if (!(surplus <= 30)) {
    throw_domain_error(where, "the labels are so much more likely under the prior than under right_task, in nats",
                       surplus, "at most 30");
  }
  const detail::LostShare lost(gap);
  constexpr double least = -75, most = 4;  // of log s; outside e^(log s - s) is below 1e-22, or below 1e-32
  return numerics::integrate_bump<double>(where, [&](double u) {
    const double log_s = least + (most - least) * u;
    const double log_survivors = (pool_size - 1) * std::log1p(-(std::min)(lost(log_s), 1.0));
    return (most - least) * std::exp(log_s - std::exp(log_s) + log_survivors);
  });
}

INCONTEXT_COMPILED(baselines_pool_posterior, two_task_pool_risk<double>);
INCONTEXT_COMPILED(baselines_pool_posterior, two_task_pool_weight<double>);

}  // namespace incontext::baselines
