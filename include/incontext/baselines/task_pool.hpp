#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "incontext/baselines/task_variances.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines {

/// The means over tasks, contexts and queries on which the error of a layer of linear attention depends.
///
/// \f[ \hat y = x_q^T \Gamma h,\quad h = \Bigl(\frac1l\sum_i y_i x_i,\ \frac1l\sum_i y_i^2\Bigr),\quad
///     A = E\,w h^T,\quad B = E\,h h^T \f]
///
/// Shapes    answers A: d x (d + 1), features B: (d + 1) x (d + 1), inputs: d x d.
/// Units     label units squared: `label`, the mean square of a label; the others in products of label and input units.
template <Real T>
struct TaskMoments {
  numerics::Matrix<T> answers;   ///< A
  numerics::Matrix<T> features;  ///< B
  numerics::Matrix<T> inputs;    ///< covariance of the query
  T label;
};

/// The moments of contexts of a pool of given tasks, each as likely as the others, inputs N(0, I).
///
/// \f[ s_j = |w_j|^2 + \sigma^2,\quad E[h | w] = \binom ws,\quad
///     E[h h^T | w] = \begin{pmatrix}\frac sl I + (1 + \frac1l) w w^T & (1 + \frac2l) s w \cr
///     (1 + \frac2l) s w^T & (1 + \frac2l) s^2\end{pmatrix} \f]
///
/// Source    the layer and its features: Lu et al., arXiv 2405.11751; the moments derived for every l:
///           docs/theory/baselines.md#pools.
/// Shapes    tasks: k x d, a task per row.
/// Domain    k >= 1, d >= 1, finite tasks, noise_variance >= 0, examples >= 1.
/// Errors    std::invalid_argument for shapes, std::domain_error for values.
/// Accuracy  1e-13 of an error made of them (tests/baselines/task_pool.cpp).
template <Real T>
TaskMoments<T> pool_moments(const numerics::Matrix<T>& tasks, const T& noise_variance, std::int64_t examples);

/// The moments of contexts of new tasks N(0, W), inputs N(0, Sigma): what a layer may be tested on.
///
/// Source    docs/theory/baselines.md#pools.
/// Shapes    (task_covariance W: d x d, input_covariance Sigma: d x d)
/// Domain    symmetric covariances, noise_variance >= 0, examples >= 1.
/// Errors    std::invalid_argument for shapes, std::domain_error for values.
/// Accuracy  1e-13 of an error made of them (tests/baselines/task_pool.cpp).
template <Real T>
TaskMoments<T> normal_task_moments(const numerics::Matrix<T>& task_covariance,
                                   const numerics::Matrix<T>& input_covariance, const T& noise_variance,
                                   std::int64_t examples);

/// The layer of linear attention with the least mean squared error on these tasks: Gamma = A B^{-1}.
///
///     const auto layer = baselines::best_layer(baselines::pool_moments<double>(tasks, 0.1, 40));
///
/// Source    the normal equations; docs/theory/baselines.md#pools.
/// Shapes    d x (d + 1)
/// Units     of answer per feature.
/// Domain    moments of labels that are not all 0.
/// Errors    std::domain_error where B is singular.
/// Accuracy  eps times the condition number of B.
template <Real T>
numerics::Matrix<T> best_layer(const TaskMoments<T>& moments) {
  const Eigen::LDLT<numerics::Matrix<T>> factor(moments.features);
  const T rounding = T(64) * std::numeric_limits<T>::epsilon() * moments.features.diagonal().maxCoeff();
  if (!(factor.vectorD().minCoeff() > rounding)) {
    throw_domain_error("best_layer", "features is singular", T(factor.vectorD().minCoeff()),
                       "noise, or two different tasks");
  }
  return factor.solve(moments.answers.transpose()).transpose();
}

/// The mean squared error of any layer of linear attention on tasks of given moments, with the query's noise.
///
/// \f[ E[y_q^2] - 2\,\mathrm{tr}(\Sigma\Gamma A^T) + \mathrm{tr}(\Sigma\Gamma B\Gamma^T) \f]
///
///     const double shifted = baselines::layer_error(layer, baselines::normal_task_moments<double>(w, sigma, 0.1, 40));
///
/// Source    docs/theory/baselines.md#pools.
/// Shapes    (layer: d x (d + 1), moments) -> scalar
/// Units     label units squared.
/// Domain    every layer.
/// Errors    std::invalid_argument for shapes.
/// Accuracy  d eps of its terms (tests/baselines/task_pool.cpp).
template <Real T>
T layer_error(const numerics::Matrix<T>& layer, const TaskMoments<T>& moments) {
  require_same_size("layer_error", "layer.rows()", std::int64_t{layer.rows()}, std::int64_t{moments.answers.rows()});
  require_same_size("layer_error", "layer.cols()", std::int64_t{layer.cols()}, std::int64_t{moments.answers.cols()});
  const numerics::Matrix<T> seen = numerics::product<T>(moments.inputs, layer);
  const numerics::Matrix<T> half = numerics::product<T>(layer, moments.features);
  return moments.label + seen.cwiseProduct(half - T(2) * moments.answers).sum();
}

/// The errors of a layer that was pretrained on a pool of tasks.
///
/// Units     label units squared, with the query's noise.
template <Real T>
struct PoolErrors {
  T seen;   ///< on tasks of the pool
  T fresh;  ///< on new tasks N(0, psi^2 I)
};

/// A pool of pretraining tasks, and the errors of the layer of linear attention that is best for it, at any number of
/// examples.
///
/// Pretraining has no end: as many contexts of the pool's tasks as one wants, inputs N(0, I). Everything is exact given
/// the pool. All lengths share one eigendecomposition of the tasks' second moment, of the smaller order of k and d;
/// after it a length takes time proportional to that order.
///
///     const baselines::TaskPool<double> pool(tasks, {.noise_variance = 0.1, .task_variance = 0.05});
///     const double error = pool.errors(40).fresh;
///
/// Source    the question: Lu et al., arXiv 2405.11751, in the limit of large sizes; the errors derived at every size:
///           docs/theory/baselines.md#pools. In their units inputs are N(0, I/d) and tasks N(0, I): task_variance 1/d
///           here, and tasks that are 1/sqrt(d) of theirs.
/// Shapes    tasks: k x d, a task per row.
/// Units     of TaskVariances.
/// Domain    k >= 1, d >= 1, finite tasks; variances >= 0; labels that are not all 0; noise, or two different tasks.
/// Limits    k -> infinity with tasks N(0, psi^2 I): both errors are those of one layer of gradient descent,
///           optimal_layers.
/// Errors    std::invalid_argument for shapes and examples, std::domain_error for values.
/// Accuracy  1e-12 of the mean squared label against best_layer and layer_error (tests/baselines/task_pool.cpp), which
///           at 50 digits agree to 42 of them (tests/baselines/task_pool_50digits.cpp).
template <Real T>
class TaskPool {
 public:
  TaskPool(const numerics::Matrix<T>& tasks, const TaskVariances<T>& task);

  /// At this number of examples, in pretraining and after it.
  PoolErrors<T> errors(std::int64_t examples) const;

 private:
  using Array = Eigen::Array<T, Eigen::Dynamic, 1>;

  TaskVariances<T> task_;
  T dimension_;
  Array eigenvalues_;       ///< of the mean of w w^T, without zeros
  Array lean_;              ///< the mean of w s, in its eigenvectors
  T label_, label_square_;  ///< means of s and s^2
};

namespace detail {

template <Real T>
void require_tasks(std::string_view where, const numerics::Matrix<T>& tasks, const T& noise_variance) {
  require_at_least(where, "tasks.rows()", std::int64_t{tasks.rows()}, std::int64_t{1});
  require_at_least(where, "tasks.cols()", std::int64_t{tasks.cols()}, std::int64_t{1});
  for (Eigen::Index k = 0; k < tasks.rows(); ++k) {
    for (Eigen::Index i = 0; i < tasks.cols(); ++i) require_finite(where, "tasks", tasks(k, i));
  }
  require_non_negative(where, "noise_variance", noise_variance);
}

}  // namespace detail

template <Real T>
TaskMoments<T> pool_moments(const numerics::Matrix<T>& tasks, const T& noise_variance, std::int64_t examples) {
  detail::require_tasks("pool_moments", tasks, noise_variance);
  require_at_least("pool_moments", "examples", examples, std::int64_t{1});
  const Eigen::Index d = tasks.cols();
  const T count = math::from_count<T>(tasks.rows()), l = math::from_count<T>(examples);
  const numerics::Vector<T> squares = (tasks.rowwise().squaredNorm().array() + noise_variance).matrix();
  const numerics::Matrix<T> transposed = tasks.transpose();
  const numerics::Matrix<T> second = numerics::product<T>(transposed, tasks) / count;
  const numerics::Vector<T> lean = transposed * squares / count;
  const T label = squares.sum() / count;
  TaskMoments<T> moments{numerics::Matrix<T>(d, d + 1), numerics::Matrix<T>(d + 1, d + 1),
                         numerics::Matrix<T>::Identity(d, d), label};
  moments.answers << second, lean;
  moments.features.topLeftCorner(d, d) = (T(1) + T(1) / l) * second;
  moments.features.topLeftCorner(d, d).diagonal().array() += label / l;
  moments.features.topRightCorner(d, 1) = (T(1) + T(2) / l) * lean;
  moments.features.bottomLeftCorner(1, d) = moments.features.topRightCorner(d, 1).transpose();
  moments.features(d, d) = (T(1) + T(2) / l) * squares.squaredNorm() / count;
  return moments;
}

template <Real T>
TaskMoments<T> normal_task_moments(const numerics::Matrix<T>& task_covariance,
                                   const numerics::Matrix<T>& input_covariance, const T& noise_variance,
                                   std::int64_t examples) {
  constexpr const char* where = "normal_task_moments";
  const Eigen::Index d = task_covariance.rows();
  require_at_least(where, "task_covariance.rows()", std::int64_t{d}, std::int64_t{1});
  require_same_size(where, "task_covariance.cols()", std::int64_t{task_covariance.cols()}, std::int64_t{d});
  require_same_size(where, "input_covariance.rows()", std::int64_t{input_covariance.rows()}, std::int64_t{d});
  require_same_size(where, "input_covariance.cols()", std::int64_t{input_covariance.cols()}, std::int64_t{d});
  require_non_negative(where, "noise_variance", noise_variance);
  require_at_least(where, "examples", examples, std::int64_t{1});
  require_finite(where, "task_covariance", T(task_covariance.sum()));
  require_finite(where, "input_covariance", T(input_covariance.sum()));
  const T l = math::from_count<T>(examples);
  const numerics::Matrix<T> turned = numerics::product<T>(input_covariance, task_covariance);
  const T signal = turned.trace(), label = signal + noise_variance;
  TaskMoments<T> moments{numerics::Matrix<T>::Zero(d, d + 1), numerics::Matrix<T>::Zero(d + 1, d + 1), input_covariance,
                         label};
  moments.answers.leftCols(d) = turned.transpose();
  moments.features.topLeftCorner(d, d) =
      label / l * input_covariance + (T(1) + T(1) / l) * numerics::product<T>(turned, input_covariance);
  moments.features(d, d) = (T(1) + T(2) / l) * (label * label + T(2) * numerics::trace_of_product<T>(turned, turned));
  return moments;
}

template <Real T>
TaskPool<T>::TaskPool(const numerics::Matrix<T>& tasks, const TaskVariances<T>& task)
    : task_(task), dimension_(math::from_count<T>(tasks.cols())) {
  require_task_variances("TaskPool", task);
  detail::require_tasks("TaskPool", tasks, task.noise_variance);
  const T count = math::from_count<T>(tasks.rows());
  const numerics::Vector<T> squares = (tasks.rowwise().squaredNorm().array() + task.noise_variance).matrix();
  label_ = squares.sum() / count;
  label_square_ = squares.squaredNorm() / count;
  require_positive("TaskPool", "mean squared label", label_);
  // W^T W and W W^T have the same eigenvalues but zeros; an eigenvector g of the second is W^T g of the first.
  const numerics::Matrix<T> transposed = tasks.transpose();
  const bool is_few = tasks.rows() < tasks.cols();
  const numerics::Matrix<T> gram =
      (is_few ? numerics::product<T>(tasks, transposed) : numerics::product<T>(transposed, tasks)) / count;
  const auto spectrum = numerics::symmetric_spectrum(gram);
  eigenvalues_ = (spectrum.values.array().max)(T(0));
  if (is_few) {
    lean_ = (eigenvalues_ / count).sqrt() * (spectrum.vectors.transpose() * squares).array();
  } else {
    const numerics::Vector<T> lean = transposed * squares / count;
    lean_ = (spectrum.vectors.transpose() * lean).array();
  }
}

template <Real T>
PoolErrors<T> TaskPool<T>::errors(std::int64_t examples) const {
  require_at_least("TaskPool::errors", "examples", examples, std::int64_t{1});
  const T l = math::from_count<T>(examples);
  const T noise = task_.noise_variance, prior = task_.task_variance;
  const T once = T(1) + T(1) / l, twice = T(1) + T(2) / l;
  // B = (diag(spread), border; border^T, twice * label_square) in the eigenvectors; B^{-1} by its Schur complement
  const Array spread = label_ / l + once * eigenvalues_;
  const Array gain = eigenvalues_ / spread;
  const Array border = twice * lean_ / spread;
  const T schur = twice * (label_square_ - (lean_ * border).sum());
  if (!(schur > T(64) * std::numeric_limits<T>::epsilon() * twice * label_square_)) {
    throw_domain_error("TaskPool::errors", "the features of the pool are linearly dependent", schur,
                       "noise, or two different tasks");
  }
  // Gamma = (diag(gain) - last border^T, last)
  const Array last = (lean_ - gain * twice * lean_) / schur;
  const T last_square = (last * last).sum();
  const T seen = noise + (gain * (label_ + eigenvalues_)).sum() / l - schur * last_square;
  const T trace = gain.sum() - (last * border).sum();
  const T square = (gain * gain).sum() - T(2) * (gain * last * border).sum() + last_square * (border * border).sum();
  const T signal = prior * dimension_;
  const T feature = (signal + noise) / l + once * prior;
  const T label_square = (signal + noise) * (signal + noise) + T(2) * prior * signal;
  const T fresh = noise + signal - T(2) * prior * trace + feature * square + twice * label_square * last_square;
  return {.seen = seen, .fresh = fresh};
}

INCONTEXT_COMPILED(baselines_task_pool, pool_moments<double>);
INCONTEXT_COMPILED(baselines_task_pool, normal_task_moments<double>);
INCONTEXT_COMPILED(baselines_task_pool, best_layer<double>);
INCONTEXT_COMPILED(baselines_task_pool, layer_error<double>);
INCONTEXT_COMPILED_DECLARATION(baselines_task_pool, class TaskPool<double>);

}  // namespace incontext::baselines
