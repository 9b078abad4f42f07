#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "incontext/baselines/corrected_bayes_risk.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/mixer.hpp"
#include "incontext/baselines/neighbor_averages.hpp"
#include "incontext/baselines/pool_averages.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/baselines/sequence_mixers.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"

namespace incontext::baselines {

/// The setting and the units of a figure of in-context linear regression.
///
/// Units     noise_variance: label units squared; input_variance: input units squared; task_variance: label units
///           squared over input units squared.
template <Real T>
struct CurveSettings {
  std::int64_t dimension;
  T noise_variance;
  T task_variance;
  T input_variance = T(1);                ///< 1/d for inputs N(0, I/d)
  std::vector<std::int64_t> layers = {};  ///< one curve each: layers of linear attention, each with its best rate
  std::vector<std::int64_t> looped = {};  ///< one curve each: one layer that is applied so many times
  bool query_noise = true;                ///< whether the error is of the noisy label, or of its mean
  bool per_dimension = false;             ///< whether errors are divided by the dimension
  std::vector<std::int64_t> pretraining_tasks = {};  ///< two curves each: a layer pretrained on so many tasks
  std::vector<std::int64_t> sgd_tasks = {};          ///< one curve each: a layer after so many tasks of one-pass SGD
  PoolDraws pool_draws = {};                         ///< of the pretraining tasks
  bool averaging = false;                            ///< whether there is a curve of averaging
  std::vector<std::int64_t> neighbors = {};          ///< one curve each: the mean of so many nearest neighbors
  std::vector<MixerKind> mixers = {};                ///< one curve each: a sequence mixer, with its best rate and gate
};

/// One curve of a figure.
///
/// Units     values: as reference_curves.
template <Real T>
struct Curve {
  std::string name;                     ///< such as bayes or layers_2
  std::vector<T> values;                ///< one per context length
  std::vector<T> standard_errors = {};  ///< of a mean over drawn pools; empty where the values are exact
};

/// The variances after inputs of variance c are written as inputs of variance 1 times sqrt(c).
///
/// Errors    std::domain_error that names the field.
template <Real T>
TaskVariances<T> standardized(const CurveSettings<T>& settings) {
  require_non_negative("CurveSettings", "noise_variance", settings.noise_variance);
  require_non_negative("CurveSettings", "task_variance", settings.task_variance);
  require_positive("CurveSettings", "input_variance", settings.input_variance);
  return {settings.noise_variance, settings.task_variance * settings.input_variance};
}

/// The curves that figures of in-context linear regression show for reference, exact at finite size.
///
/// no_context           the answer 0
/// least_squares        least squares, of least norm where the examples are fewer than the dimensions; see
///                      least_squares_risk, which is infinite where |d - l| <= 1
/// averaging            the mean of label times input over the input variance, with settings.averaging; averaging_risk
/// neighbors_K          the mean label of the K examples nearest to the query; nearest_neighbors_risk
/// layers_L, looped_L   L layers of linear attention with the best rates; optimal_layers and looped_layers
/// linear_attention, gated_linear_attention, delta_rule, gated_delta_rule, gated_delta_net
///                      a sequence mixer with its best rate and gate; see SequenceMixers::best
/// pool_K, pool_K_seen  a layer of linear attention that was pretrained without end on K tasks: on new tasks, and on
///                      those K; a mean over drawn pools, see mean_pool_errors
/// sgd_T                a layer of linear attention after T tasks of one-pass SGD, each task seen once, at the constant
///                      rate that is best for that T; see best_constant_rate
/// bayes                the floor: ridge regression with the penalty noise over task variance; see bayes_risk
/// bayes_limit          its limit for large sizes, to be shown beside it; see corrected_bayes_risk
///
///     const auto curves = baselines::reference_curves<double>(
///         {.dimension = 20, .noise_variance = 0.1, .task_variance = 0.05, .layers = {1, 2}}, {1, 2, 5, 10, 20, 40});
///
/// A pretrained layer's contexts are as long in pretraining as in the test, so that every length has a layer of its
/// own. pool_K_seen may be below bayes, which does not know the K tasks.
///
/// Source    the functions named.
/// Shapes    (settings, k lengths) -> curves of k values each
/// Units     label units squared, over the dimension if settings.per_dimension.
/// Domain    as the functions named: lengths 0 to 1e6, 0 to 64 layers; neighbors, pretraining_tasks and sgd_tasks at
///           least 1, task_variance > 0 for the last two; for neighbors d up to 1000. bayes_limit needs both variances
///           > 0 and is left out without.
/// Limits    length 0: every curve is no_context.
/// Errors    std::invalid_argument for sizes, std::domain_error for variances and penalties, by the name of the field.
/// Accuracy  pool_K: the standard errors. Others as the functions named, to their accuracy times the mean of the
///           squared noisy label; without the query's noise that much of a smaller number
///           (tests/baselines/reference_curves.cpp).
template <Real T>
std::vector<Curve<T>> reference_curves(const CurveSettings<T>& settings, const std::vector<std::int64_t>& lengths) {
  constexpr const char* where = "reference_curves";
  const TaskVariances<T> task = standardized(settings);
  const std::int64_t d = settings.dimension;
  std::vector<WishartSpectrum<T>> spectra;
  spectra.reserve(lengths.size());
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    require_at_least(where, "lengths[" + std::to_string(k) + "]", lengths[k], std::int64_t{0});
    spectra.emplace_back(lengths[k], d);
  }
  const auto require_tasks = [&](const std::string& name, const std::vector<std::int64_t>& counts) {
    if (!counts.empty()) require_positive(where, "task_variance", task.task_variance);
    for (std::size_t k = 0; k < counts.size(); ++k) {
      require_at_least(where, name + "[" + std::to_string(k) + "]", counts[k], std::int64_t{1});
    }
  };
  for (std::size_t k = 0; k < settings.neighbors.size(); ++k) {
    require_at_least(where, "neighbors[" + std::to_string(k) + "]", settings.neighbors[k], std::int64_t{1});
  }
  require_tasks("pretraining_tasks", settings.pretraining_tasks);
  require_tasks("sgd_tasks", settings.sgd_tasks);
  const T nothing = task.noise_variance + task.task_variance * math::from_count<T>(d);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> eigenvalues =
      Eigen::Matrix<T, Eigen::Dynamic, 1>::Constant(d, task.task_variance);

  std::vector<Curve<T>> curves;
  const T unit = settings.per_dimension ? math::from_count<T>(d) : T(1);
  const auto add = [&](const std::string& name, const auto& risk_at) {
    Curve<T> curve{.name = name, .values = {}};
    curve.values.reserve(lengths.size());
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      T risk = lengths[k] == 0 ? nothing : risk_at(k);
      if (!settings.query_noise) risk -= task.noise_variance;
      curve.values.push_back(risk / unit);
    }
    curves.push_back(std::move(curve));
  };
  const auto add_pools = [&](std::int64_t tasks) {
    std::vector<std::int64_t> read = {};
    for (const std::int64_t length : lengths) {
      if (length > 0) read.push_back(length);
    }
    const std::vector<MeanPoolErrors<T>> errors = mean_pool_errors<T>(d, tasks, read, task, settings.pool_draws);
    const auto add_means = [&](const std::string& name, PoolMean<T> MeanPoolErrors<T>::*which) {
      std::size_t next = 0;
      std::vector<T> standard_errors = {};
      add(name, [&](std::size_t) { return (errors[next++].*which).mean; });
      next = 0;
      for (const std::int64_t length : lengths) {
        standard_errors.push_back(length > 0 ? T((errors[next++].*which).standard_error / unit) : T(0));
      }
      curves.back().standard_errors = std::move(standard_errors);
    };
    add_means("pool_" + std::to_string(tasks), &MeanPoolErrors<T>::fresh);
    add_means("pool_" + std::to_string(tasks) + "_seen", &MeanPoolErrors<T>::seen);
  };

  add("no_context", [&](std::size_t) { return nothing; });
  add("least_squares", [&](std::size_t k) { return least_squares_risk(lengths[k], d, task); });
  if (settings.averaging) add("averaging", [&](std::size_t k) { return averaging_risk(lengths[k], d, task); });
  for (const std::int64_t count : settings.neighbors) {
    add("neighbors_" + std::to_string(count),
        [&](std::size_t k) { return nearest_neighbors_risk(lengths[k], d, count, task); });
  }
  for (const std::int64_t layers : settings.layers) {
    add("layers_" + std::to_string(layers),
        [&](std::size_t k) { return optimal_layers(spectra[k], task, layers).risk; });
  }
  for (const std::int64_t layers : settings.looped) {
    add("looped_" + std::to_string(layers),
        [&](std::size_t k) { return looped_layers(spectra[k], task, layers).risk; });
  }
  for (const MixerKind kind : settings.mixers) {
    const SequenceMixers<T> mixers(isotropic_mixer_task(d, task.noise_variance, task.task_variance));
    add(mixer_name(kind), [&](std::size_t k) { return mixers.best(kind, lengths[k]).risk; });
  }
  for (const std::int64_t tasks : settings.pretraining_tasks) add_pools(tasks);
  for (const std::int64_t tasks : settings.sgd_tasks) {
    add("sgd_" + std::to_string(tasks), [&](std::size_t k) {
      const OnePassSgd<T> sgd({.dimension = d, .context_length = lengths[k], .task = task});
      return best_constant_rate(sgd, tasks).risk;
    });
  }
  add("bayes", [&](std::size_t k) { return bayes_risk(spectra[k], task); });
  if (task.noise_variance > T(0) && task.task_variance > T(0)) {
    add("bayes_limit",
        [&](std::size_t k) { return corrected_bayes_risk<T>(eigenvalues, task.noise_variance, lengths[k]).limit; });
  }
  return curves;
}

INCONTEXT_COMPILED(baselines_reference_curves, standardized<double>);
INCONTEXT_COMPILED(baselines_reference_curves, reference_curves<double>);

}  // namespace incontext::baselines
