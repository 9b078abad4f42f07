#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "incontext/baselines/detail/affine_power.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/minimum.hpp"

namespace incontext::baselines {

/// How one layer of linear attention is pretrained: by stochastic gradient descent, every step on new tasks.
///
/// Units     of TaskVariances.
template <Real T>
struct SgdSetting {
  std::int64_t dimension;
  std::int64_t context_length;  ///< examples of each pretraining context
  TaskVariances<T> task;
  std::int64_t batch = 1;  ///< tasks per step, each with one context and one query
};

/// What is known of a layer on the average over its training: its mean distance from the best layer, and the mean
/// square of that.
///
/// \f[ \mathtt{trace} = E\,\mathrm{tr}(\Gamma - \tfrac ab I),\quad \mathtt{square} = E\,\|\Gamma - \tfrac ab I\|^2 \f]
///
/// Units     1 over squared input units, and its square.
template <Real T>
struct SgdState {
  T trace, square;
};

/// The mean error of a layer of linear attention in the course of its pretraining by one-pass SGD, exact at finite
/// size.
///
/// \f[ h = \frac1l\sum_i y_i x_i,\quad \hat y = x_q^T \Gamma h,\quad
///     \Gamma \leftarrow \Gamma + \gamma\,\frac1B\sum_{b=1}^B (y_b - \hat y_b)\,x_b h_b^T,\quad \Gamma_0 = 0 \f]
///
/// With Delta = Gamma - (a/b) I, n = E tr Delta and D = E |Delta|^2 the mean over tasks, contexts and queries obeys
///
/// \f[ n' = (1 - \gamma b)\,n,\quad
///     D' = (1 - 2\gamma b + \gamma^2\kappa) D + \frac{\gamma^2}{B}\bigl[(d+2)(s_0 - 2 s_1 n) + d^2\sigma^2 b\bigr],
///     \quad \kappa = \frac{(d+2) c_2}{B} + \Bigl(1 - \frac1B\Bigr) b^2 \f]
///
/// where a = psi^2 and b = psi^2 (1 + (d+1)/l) + sigma^2/l are the multiples of I in E w h^T and E h h^T, and c_2 that
/// in E h h^T |h|^2; the source has s_0 and s_1. The risk is that of the best layer plus b D. Both numbers are linear in
/// those before, so that a constant rate needs the logarithm of the number of steps.
///
///     const baselines::OnePassSgd<double> sgd({.dimension = 20, .context_length = 40, .task = variances});
///     const double error = sgd.risk(sgd.after(5000, 0.3 * sgd.largest_stable_rate()));
///
/// Source    the setting: Wu et al., arXiv 2310.08391, who bound this error for any diagonal covariance; the recursion
///           derived: docs/theory/baselines.md#risk-after-t-tasks. For unequal variances see DiagonalSgd.
/// Units     learning rates: 1 over (label units squared times input units to the fourth power); the risk: label units
///           squared, with the query's noise.
/// Domain    dimension, context_length and batch >= 1, noise_variance >= 0, task_variance > 0; learning rates finite.
/// Limits    rate -> 0: the state stays. batch -> infinity: gradient descent on the mean loss.
/// Errors    std::invalid_argument for sizes and steps, std::domain_error for variances and rates. A rate above
///           largest_stable_rate() has a risk that grows without bound, to infinity.
/// Accuracy  of the excess over the floor, 200 eps up to 1e9 steps: tests/baselines/sgd_tasks.cpp.
template <Real T>
class OnePassSgd {
 public:
  explicit OnePassSgd(const SgdSetting<T>& setting) : setting_(setting) {
    require_at_least(where, "dimension", setting.dimension, std::int64_t{1});
    require_at_least(where, "context_length", setting.context_length, std::int64_t{1});
    require_at_least(where, "batch", setting.batch, std::int64_t{1});
    require_task_variances(where, setting.task);
    require_positive(where, "task_variance", setting.task.task_variance);
    const T d = math::from_count<T>(setting.dimension), l = math::from_count<T>(setting.context_length);
    const T noise = setting.task.noise_variance, prior = setting.task.task_variance;
    // moments of chi squares: of the labels' square (l degrees of freedom) and of |w|^2 (d)
    const T l2 = l + T(2), l3 = l2 * (l + T(4)), l4 = l3 * (l + T(6));
    const T r1 = prior * d, r2 = prior * r1 * (d + T(2));
    gain_ = prior;
    curvature_ = prior * (T(1) + (d + T(1)) / l) + noise / l;
    const T c0 = (r2 * (l + d + T(1)) + d * noise * r1) / l;
    const T c1 = (r2 * (l3 + (d - T(1)) * l2) + r1 * noise * (d + T(2)) * l2) / (d * l * l);
    const T c2 = (r2 * (l4 + T(2) * (d - T(1)) * l3 + (d * d - T(1)) * l2) +
                  T(2) * r1 * noise * (d + T(2)) * (l3 + (d - T(1)) * l2) + noise * noise * d * (d + T(2)) * l2) /
                 (d * l * l * l);
    const T best = best_gain(), per_batch = T(1) / math::from_count<T>(setting.batch);
    pull_ = T(2) * (d + T(2)) * (c1 - best * c2) * per_batch;
    push_ = ((d + T(2)) * (c0 - T(2) * best * d * c1 + best * best * d * c2) + d * d * noise * curvature_) * per_batch;
    growth_ = (d + T(2)) * c2 * per_batch + (T(1) - per_batch) * curvature_ * curvature_;
  }

  const SgdSetting<T>& setting() const { return setting_; }

  /// The best layer is this multiple of the identity: a / b.
  T best_gain() const { return gain_ / curvature_; }
  /// The error of the best layer.
  T floor() const {
    const T d = math::from_count<T>(setting_.dimension), l = math::from_count<T>(setting_.context_length);
    const T noise = setting_.task.noise_variance;
    // psi^2 d (1 - a/b), without the difference
    return noise + gain_ * d * ((d + T(1)) * gain_ + noise) / (l * curvature_);
  }
  /// Positive learning rates below this one have a bounded mean squared error, and only they.
  T largest_stable_rate() const { return T(2) * curvature_ / growth_; }

  /// The layer of zeros.
  SgdState<T> start() const {
    const T d = math::from_count<T>(setting_.dimension);
    return {-d * best_gain(), d * best_gain() * best_gain()};
  }
  /// After one step more.
  SgdState<T> step(const SgdState<T>& state, const T& rate) const {
    require_finite(where, "rate", rate);
    return {state.trace - rate * curvature_ * state.trace,
            state.square - rate * (T(2) * curvature_ - rate * growth_) * state.square +
                rate * rate * (push_ - pull_ * state.trace)};
  }
  /// After `steps` steps at a constant rate, from the layer of zeros.
  SgdState<T> after(std::int64_t steps, const T& rate) const {
    require_at_least(where, "steps", steps, std::int64_t{0});
    require_finite(where, "rate", rate);
    const SgdState<T> first = start();
    const auto found = detail::AffinePower<T, 2>(change(rate), forcing(rate), steps)({first.trace, first.square});
    return {found(0), found(1)};
  }
  /// The rate at which the next step leads to the least error: b D / (kappa D + forcing).
  T greedy_rate(const SgdState<T>& state) const {
    return curvature_ * state.square / (growth_ * state.square + push_ - pull_ * state.trace);
  }

  /// The mean squared error on new tasks whose contexts are as long as in pretraining.
  T risk(const SgdState<T>& state) const { return finite_or_infinite(floor() + curvature_ * state.square); }
  /// On contexts of another length.
  T risk(const SgdState<T>& state, std::int64_t test_length) const {
    require_at_least(where, "test_length", test_length, std::int64_t{1});
    const T d = math::from_count<T>(setting_.dimension), l = math::from_count<T>(test_length);
    const T& prior = setting_.task.task_variance;
    const T other = prior * (T(1) + (d + T(1)) / l) + setting_.task.noise_variance / l;
    const T square = state.square + T(2) * best_gain() * state.trace + d * best_gain() * best_gain();  // E |Gamma|^2
    return finite_or_infinite(risk(state) + (other - curvature_) * square);
  }

  /// The error of the mean of the layers after each of the last `tail` of `steps` steps at a constant rate.
  T tail_average_risk(std::int64_t steps, std::int64_t tail, const T& rate) const {
    require_at_least(where, "tail", tail, std::int64_t{1});
    require_at_least(where, "steps", steps, tail);
    const SgdState<T> from = after(steps - tail, rate);
    // n, D, C = E tr S^T Delta and V = E |S|^2 for the sum S of the layers so far: C' = (1 - gamma b) C + D',
    // V' = V + 2 (1 - gamma b) C + D'
    Eigen::Matrix<T, 4, 4> lost = Eigen::Matrix<T, 4, 4>::Zero();
    Eigen::Matrix<T, 4, 1> gained = Eigen::Matrix<T, 4, 1>::Zero();
    const T kept = T(1) - rate * curvature_;
    lost.template topLeftCorner<2, 2>() = change(rate);
    lost.row(2) = lost.row(1);
    lost(2, 1) -= T(1);
    lost(2, 2) = rate * curvature_;
    lost.row(3) = lost.row(1);
    lost(3, 1) -= T(1);
    lost(3, 2) = T(-2) * kept;
    gained.template head<2>() = forcing(rate);
    gained(2) = gained(3) = gained(1);
    const auto found = detail::AffinePower<T, 4>(lost, gained, tail)({from.trace, from.square, T(0), T(0)});
    const T count = math::from_count<T>(tail);
    return finite_or_infinite(floor() + curvature_ * found(3) / (count * count));
  }

 private:
  static constexpr const char* where = "OnePassSgd";

  /// What a step takes from (n, D), and what it adds.
  Eigen::Matrix<T, 2, 2> change(const T& rate) const {
    Eigen::Matrix<T, 2, 2> lost;
    lost << rate * curvature_, T(0), rate * rate * pull_, rate * (T(2) * curvature_ - rate * growth_);
    return lost;
  }
  Eigen::Matrix<T, 2, 1> forcing(const T& rate) const { return {T(0), rate * rate * push_}; }

  /// Overflow of an unstable rate ends in infinity or NaN.
  static T finite_or_infinite(const T& risk) {
    return risk <= (std::numeric_limits<T>::max)() ? risk : std::numeric_limits<T>::infinity();
  }

  SgdSetting<T> setting_;
  T gain_, curvature_;      ///< a and b
  T pull_, push_, growth_;  ///< 2 (d + 2) s_1 / B, the forcing and kappa
};

/// A learning rate and the error that it leads to.
template <Real T>
struct LearningRateChoice {
  T learning_rate, risk;
  numerics::SearchPlace place = numerics::SearchPlace::inside;
};

/// The constant learning rate at which one-pass SGD has the least error after a number of steps.
///
///     const auto best = baselines::best_constant_rate(sgd, 10'000);   // best.learning_rate, best.risk
///
/// Source    search: the least of 61 rates in geometric progression, from a tenth of the greedy one over the steps to
///           the largest stable one, then Brent's method between its neighbors.
/// Shapes    (sgd, steps) -> learning rate and risk
/// Domain    steps >= 1.
/// Limits    one step: greedy_rate of the layer of zeros.
/// Errors    std::invalid_argument for steps.
/// Accuracy  the risk to eps, the rate to its square root; that no lower minimum is between the 61 rates is not proved
///           (tests/baselines/sgd_tasks.cpp).
template <Real T>
LearningRateChoice<T> best_constant_rate(const OnePassSgd<T>& sgd, std::int64_t steps) {
  using std::exp;
  using std::log;
  require_at_least("best_constant_rate", "steps", steps, std::int64_t{1});
  const T high = log(sgd.largest_stable_rate());
  const T greedy = sgd.greedy_rate(sgd.start());
  const T low = log(greedy / (T(10) * math::from_count<T>(steps)));
  const auto excess_at = [&](const T& logarithm) { return sgd.after(steps, T(exp(logarithm))).square; };
  const auto found = numerics::minimum_on_grid<T>(excess_at, low, high, 60);
  const T rate = exp(found.argument);
  return {.learning_rate = rate, .risk = sgd.risk(sgd.after(steps, rate)), .place = found.place};
}

/// The fewest tasks after which one-pass SGD has at most (1 + share) times the error of the best layer, if every step
/// takes the rate that is best for it.
///
/// The greedy rate needs the state's two means, which are known without training: it is a schedule. It is not the best
/// one for every number of steps: for d = 5, l = 8 without noise the best constant rate has slightly less error after 100
/// steps, and more after 200.
///
///     const auto tasks = baselines::tasks_needed(sgd, 0.1);   // 10% above the floor
///
/// Source    greedy_rate, step by step.
/// Shapes    (OnePassSgd or DiagonalSgd, share) -> count, a multiple of the batch
/// Units     tasks.
/// Domain    share > 0, reached within 1e9 steps.
/// Limits    share so large that the answer 0 suffices: 0.
/// Errors    std::domain_error for the share.
/// Accuracy  exact up to rounding (tests/baselines/sgd_tasks.cpp).
template <class Sgd, Real T>
std::int64_t tasks_needed(const Sgd& sgd, const T& share) {
  require_positive("tasks_needed", "share", share);
  const T floor = sgd.floor();
  auto state = sgd.start();
  std::int64_t steps = 0;
  for (; !(sgd.risk(state) - floor <= share * floor); ++steps) {
    if (steps == 1'000'000'000) throw_domain_error("tasks_needed", "share is too small", share, "at most 1e9 steps");
    state = sgd.step(state, sgd.greedy_rate(state));
  }
  return steps * sgd.setting().batch;
}

INCONTEXT_COMPILED_DECLARATION(baselines_sgd_tasks, class OnePassSgd<double>);
INCONTEXT_COMPILED(baselines_sgd_tasks, best_constant_rate<double>);
INCONTEXT_COMPILED(baselines_sgd_tasks, tasks_needed<OnePassSgd<double>, double>);

}  // namespace incontext::baselines
