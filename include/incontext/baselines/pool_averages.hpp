#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/baselines/task_pool.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"

namespace incontext::baselines {

/// The law of a pool's tasks: independent N(0, psi^2) entries, or uniform on the sphere of the radius psi sqrt(d), as
/// in Lu et al., arXiv 2405.11751. New tasks are normal in both cases.
enum class PoolLaw { normal, sphere };

/// Which pools are drawn.
struct PoolDraws {
  std::int64_t pools = 100;  ///< how many, each with tasks of its own
  std::uint64_t seed = 1;
  PoolLaw law = PoolLaw::normal;
};

/// A mean over drawn pools, and its standard error.
template <Real T>
struct PoolMean {
  T mean, standard_error;
};

/// The mean errors of the layers that are best for drawn pools, each layer for its pool.
///
/// Units     label units squared, with the query's noise.
template <Real T>
struct MeanPoolErrors {
  PoolMean<T> seen;   ///< on tasks of the pool
  PoolMean<T> fresh;  ///< on new tasks N(0, psi^2 I)
};

/// One pool of tasks. A larger pool of the same number and seed begins with the tasks of a smaller one.
///
///     const auto tasks = baselines::drawn_pool(100, 20, 0.05);   // 100 tasks of 20 entries
///
/// Source    the definition.
/// Shapes    tasks x dimension, a task per row
/// Units     task_variance: of an entry.
/// Domain    tasks and dimension >= 1, tasks x dimension <= 4e9; task_variance >= 0; pool >= 0.
/// Errors    std::invalid_argument for sizes, std::domain_error for the variance.
/// Accuracy  moments of the entries: tests/baselines/pool_averages.cpp.
/// Random    stream tasks of trial `pool`; (dimension + 1) / 2 counters per task. Bits depend on neither libm, compiler
///           nor instruction set.
template <Real T>
numerics::Matrix<T> drawn_pool(std::int64_t tasks, std::int64_t dimension, const T& task_variance,
                               const PoolDraws& draws = {}, std::int64_t pool = 0) {
  using std::sqrt;
  require_at_least("drawn_pool", "tasks", tasks, std::int64_t{1});
  require_at_least("drawn_pool", "dimension", dimension, std::int64_t{1});
  require_at_least("drawn_pool", "pool", pool, std::int64_t{0});
  require_non_negative("drawn_pool", "task_variance", task_variance);
  if (tasks > 4'000'000'000 / dimension) {
    throw_invalid_argument("drawn_pool", "tasks are too many for the dimension", tasks, "tasks x dimension <= 4e9");
  }
  constexpr int per_block = random::normals_per_block<double>;
  const random::LaneStream<1> stream({draws.seed, static_cast<std::uint64_t>(pool)}, random::PoolStream::tasks);
  const auto blocks = static_cast<std::uint32_t>((dimension + per_block - 1) / per_block);
  const T deviation = sqrt(task_variance);
  numerics::Matrix<T> drawn(tasks, dimension);
  for (Eigen::Index k = 0; k < drawn.rows(); ++k) {
    double normal[per_block][1];
    for (Eigen::Index i = 0; i < drawn.cols(); ++i) {
      const auto block = static_cast<std::uint32_t>(k) * blocks + static_cast<std::uint32_t>(i / per_block);
      if (i % per_block == 0) random::normals(stream, block, normal);
      drawn(k, i) = deviation * T(normal[i % per_block][0]);
    }
    if (draws.law == PoolLaw::sphere && task_variance > T(0)) {
      drawn.row(k) *= deviation * sqrt(math::from_count<T>(dimension)) / drawn.row(k).norm();
    }
  }
  return drawn;
}

/// What a layer of linear attention that was pretrained on k tasks reaches, on the average over pools of k tasks.
///
///     const auto at = baselines::mean_pool_errors<double>(20, 100, {10, 20, 40}, variances, {.pools = 300});
///     // at[2].fresh.mean, at[2].fresh.standard_error: of 40 examples
///
/// Source    TaskPool, exact for each pool; Lu et al., arXiv 2405.11751, have the limit, which is pool_limit.
/// Shapes    one entry per length
/// Domain    as TaskPool and drawn_pool; at least 2 pools, lengths >= 1. All lengths, and the same pools of other
///           sizes, share their draws.
/// Limits    k -> infinity: one layer of gradient descent with the best rate, for seen and new tasks.
/// Errors    std::invalid_argument for sizes, std::domain_error for variances.
/// Accuracy  the standard errors (tests/baselines/pool_averages.cpp).
template <Real T>
std::vector<MeanPoolErrors<T>> mean_pool_errors(std::int64_t dimension, std::int64_t tasks,
                                                const std::vector<std::int64_t>& lengths, const TaskVariances<T>& task,
                                                const PoolDraws& draws = {});

/// The limit of both errors for large sizes at fixed l / d and k / d.
///
/// \f[ q = \frac1\alpha\Bigl(1 + \frac{\sigma^2}{\psi^2 d}\Bigr),\quad \alpha = \frac ld,\quad \kappa = \frac kd,\quad
///     M = \frac{2}{u + \sqrt{u^2 + 4 q/\kappa}},\quad u = q + 1 - \frac1\kappa \f]
/// \f[ \frac{\mathtt{fresh} - \sigma^2}{\psi^2 d} = q - 2 M q^2 + \frac{(1 + q)(q M)^2}{1 - \kappa (M/(\kappa + M))^2},
///     \quad \frac{\mathtt{seen} - \sigma^2}{\psi^2 d} = q (1 - q M) \f]
///
/// To be shown beside mean_pool_errors: at k = d, l = 1.5 d and noise a tenth of the signal, new tasks' error over pools on
/// the sphere is 15% above it for d = 8, and 1.6% for d = 64; over normal pools 18% and 2.0%.
///
/// Source    Lu et al., arXiv 2405.11751, for endless pretraining; here from the law of Marchenko and Pastur:
///           docs/theory/baselines.md#pools-in-the-limit.
/// Shapes    (dimension, tasks, examples, variances) -> two scalars
/// Domain    dimension, tasks and examples >= 1; noise_variance >= 0, task_variance > 0.
/// Limits    tasks -> infinity: both are sigma^2 + psi^2 d q / (1 + q).
/// Errors    std::invalid_argument for sizes, std::domain_error for variances.
/// Accuracy  off by order 1/d of the exact mean; rounding tests/baselines/pool_averages.cpp.
template <Real T>
PoolErrors<T> pool_limit(std::int64_t dimension, std::int64_t tasks, std::int64_t examples,
                         const TaskVariances<T>& task) {
  using std::sqrt;
  require_at_least("pool_limit", "dimension", dimension, std::int64_t{1});
  require_at_least("pool_limit", "tasks", tasks, std::int64_t{1});
  require_at_least("pool_limit", "examples", examples, std::int64_t{1});
  require_task_variances("pool_limit", task);
  require_positive("pool_limit", "task_variance", task.task_variance);
  const T d = math::from_count<T>(dimension), signal = task.task_variance * d;
  const T kappa = math::from_count<T>(tasks) / d;
  const T q = d / math::from_count<T>(examples) * (T(1) + task.noise_variance / signal);
  const T u = q + T(1) - T(1) / kappa, root = sqrt(u * u + T(4) * q / kappa);
  // M = 2 / (u + root), which cancels where u < 0; 1 - q M = kappa M / (kappa + M)
  const T m = u < T(0) ? T(kappa * (root - u) / (T(2) * q)) : T(T(2) / (u + root));
  const T share = m / (kappa + m), lost = q * m;
  const T fresh = q - T(2) * q * lost + (T(1) + q) * lost * lost / (T(1) - kappa * share * share);
  return {.seen = task.noise_variance + signal * q * kappa * share, .fresh = task.noise_variance + signal * fresh};
}

/// The fewest pretraining tasks with which the layer's mean error on new tasks is at most (1 + share) times that of a
/// layer that was pretrained on all tasks: where memorizing the pool has turned into learning from the context.
///
/// In the limit of large sizes and long contexts the turn is sharp, at as many tasks as dimensions: with fewer, the
/// layer knows the pool's span and nothing beyond it.
///
///     const auto tasks = baselines::tasks_to_generalize<double>(20, 40, variances, 0.1);
///
/// Source    mean_pool_errors, by bisection in the number of tasks, with the same draws for all.
/// Shapes    (dimension, examples, variances, share, draws) -> count
/// Units     tasks.
/// Domain    share > 0, reached with at most 2^20 tasks; as mean_pool_errors.
/// Limits    share -> infinity: 1.
/// Errors    std::domain_error for share and variances, std::invalid_argument for sizes.
/// Accuracy  that of the means over pools: the count changes with the seed. That the mean falls with every task is not
///           proved (tests/baselines/pool_averages.cpp).
template <Real T>
std::int64_t tasks_to_generalize(std::int64_t dimension, std::int64_t examples, const TaskVariances<T>& task,
                                 const T& share, const PoolDraws& draws = {});

template <Real T>
std::vector<MeanPoolErrors<T>> mean_pool_errors(std::int64_t dimension, std::int64_t tasks,
                                                const std::vector<std::int64_t>& lengths, const TaskVariances<T>& task,
                                                const PoolDraws& draws) {
  using std::sqrt;
  constexpr const char* where = "mean_pool_errors";
  require_at_least(where, "pools", draws.pools, std::int64_t{2});
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    require_at_least(where, "lengths[" + std::to_string(k) + "]", lengths[k], std::int64_t{1});
  }
  // Welford's recurrence: `standard_error` holds the sum of squares until the end
  std::vector<MeanPoolErrors<T>> means(lengths.size(), {{T(0), T(0)}, {T(0), T(0)}});
  for (std::int64_t pool = 0; pool < draws.pools; ++pool) {
    const TaskPool<T> drawn(drawn_pool<T>(tasks, dimension, task.task_variance, draws, pool), task);
    const T count = math::from_count<T>(pool + 1);
    const auto add = [&](PoolMean<T>& to, const T& value) {
      const T step = value - to.mean;
      to.mean += step / count;
      to.standard_error += step * (value - to.mean);
    };
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const PoolErrors<T> errors = drawn.errors(lengths[k]);
      add(means[k].seen, errors.seen);
      add(means[k].fresh, errors.fresh);
    }
  }
  const T pairs = math::from_count<T>(draws.pools) * math::from_count<T>(draws.pools - 1);
  for (MeanPoolErrors<T>& mean : means) {
    mean.seen.standard_error = sqrt(mean.seen.standard_error / pairs);
    mean.fresh.standard_error = sqrt(mean.fresh.standard_error / pairs);
  }
  return means;
}

template <Real T>
std::int64_t tasks_to_generalize(std::int64_t dimension, std::int64_t examples, const TaskVariances<T>& task,
                                 const T& share, const PoolDraws& draws) {
  constexpr const char* where = "tasks_to_generalize";
  require_positive(where, "share", share);
  require_at_least(where, "dimension", dimension, std::int64_t{1});
  const numerics::Matrix<T> identity = numerics::Matrix<T>::Identity(dimension, dimension);
  const TaskMoments<T> all =
      normal_task_moments<T>(task.task_variance * identity, identity, task.noise_variance, examples);
  const T enough = (T(1) + share) * layer_error(best_layer(all), all);
  const auto suffices = [&](std::int64_t tasks) {
    return mean_pool_errors<T>(dimension, tasks, {examples}, task, draws).front().fresh.mean <= enough;
  };
  std::int64_t high = 1;
  while (!suffices(high)) {
    high *= 2;
    if (high > (1 << 20)) throw_domain_error(where, "share is too small", share, "a share reached with 2^20 tasks");
  }
  std::int64_t low = high / 2;  // does not suffice
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

INCONTEXT_COMPILED(baselines_pool_averages, drawn_pool<double>);
INCONTEXT_COMPILED(baselines_pool_averages, mean_pool_errors<double>);
INCONTEXT_COMPILED(baselines_pool_averages, pool_limit<double>);
INCONTEXT_COMPILED(baselines_pool_averages, tasks_to_generalize<double>);

}  // namespace incontext::baselines
