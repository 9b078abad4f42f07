#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/alignment_trial.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/classifiers_run.hpp"
#include "incontext/simulate/classification/classifiers_trial.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/statistics/estimate.hpp"

/// In-context classification on the sphere, the rules simulated as sums of votes: what classification/ has no formula
/// for. Its referee, attention over tokens, is context_attention.hpp.
namespace incontext::simulate {

/// The metrics of every trial, for medians.
struct ClassificationSample {
  Sample sample;

  [[nodiscard]] double median(std::size_t point, ClassificationMetric metric) const {
    return sample.median(point * detail::classification_metrics + static_cast<std::size_t>(metric));
  }
};

/// Mean loss, accuracy, entropy, probability of the right class, sensitivity, and how often classifiers are confident,
/// and confident of a wrong class, on common contexts.
///
///     const simulate::SphereTask task{.dimension = 3, .classes = 3, .context_length = 30};
///     const simulate::Classifier classifier{simulate::ClassificationRule::adaptive, 4.0, 2.0};  // kappa, gain
///     const auto run = simulate::classification(task, {classifier}, {.seed = 1, .trials = 65536});
///
/// Source    ClassificationTrial.
/// Shapes    a point for each classifier.
/// Domain    as SphereTask; kappa and gain finite as a T, kernel: kappa >= 0. Classifiers of one rule and kappa that
///           are side by side share their kernel.
/// Errors    std::invalid_argument for task, options or no classifier; std::domain_error for kappa or gain of a
///           classifier.
/// Accuracy  standard error in the result, and a bound on its rounding; T = float adds about 1e-6 of the size of the
///           logits per trial: tests/simulate/classification/classifiers.cpp.
/// Random    as SphereTaskDraw; bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationSimulation classification(const SphereTask& task, const std::vector<Classifier>& classifiers,
                                        const Options& options) {
  validate(options);
  const Device device = resolve(options.device, options.gpu);
  auto simulation = detail::with_classification_trial<T>(
      "simulate::classification", device, task, classifiers,
      [&](auto system, const ClassificationTrial<T>& trial) -> ClassificationSimulation {
        return {run_on<decltype(system)>(device, trial, options)};
      });
  for (std::size_t i = 0; i < simulation.run.estimates.size(); ++i) {
    const std::size_t metric = i % detail::classification_metrics;
    const bool is_derivative = metric == static_cast<std::size_t>(ClassificationMetric::sensitivity);
    const Classifier& at = classifiers[i / detail::classification_metrics];
    simulation.run.estimates[i].rounding +=
        detail::logit_rounding<T>(at) * (is_derivative ? 1 + std::abs(at.kappa) : 1);
  }
  return simulation;
}

/// The first `options.trials` trials of classification, each kept.
///
/// Source    as classification.
/// Domain    as classification; options.trials >= 1.
/// Errors    as classification.
/// Random    as classification: the same trials.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationSample classification_sample(const SphereTask& task, const std::vector<Classifier>& classifiers,
                                           const Options& options) {
  validate(options);
  return detail::with_classification_trial<T>(
      "simulate::classification_sample", resolve(options.device, options.gpu), task, classifiers,
      [&](auto system, const ClassificationTrial<T>& trial) -> ClassificationSample {
        return {sample_on<decltype(system)>(trial, options)};
      });
}

/// The distances of pairs of classifiers, in predictions and in sensitivities, on common contexts.
///
/// Source    AlignmentTrial.
/// Shapes    a point for each pair.
/// Domain    as classification.
/// Errors    std::invalid_argument for task, options or no pair; std::domain_error for kappa or gain of a classifier.
/// Accuracy  as classification; the cosine of a class whose derivative underflows is taken as 0.
/// Random    as classification: the same contexts.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
AlignmentSimulation classification_alignment(const SphereTask& task, const std::vector<ClassifierPair>& pairs,
                                             const Options& options) {
  constexpr auto where = "simulate::classification_alignment";
  validate(options);
  validate(task, where);
  require_at_least(where, "pairs.size()", pairs.size(), std::size_t{1});
  std::vector<ClassificationPair<T>> numbers;
  for (const ClassifierPair& pair : pairs) {
    detail::require_classifier<T>(where, pair.first);
    detail::require_classifier<T>(where, pair.second);
    numbers.push_back({detail::point_of<T>(pair.first), detail::point_of<T>(pair.second)});
  }
  const Device device = resolve(options.device, options.gpu);
  return detail::with_system(device, [&](auto system) -> AlignmentSimulation {
    using System = decltype(system);
    const typename System::template Memory<ClassificationPair<T>> list(numbers.begin(), numbers.end());
    const AlignmentTrial<T> trial{detail::draw_of<T>(task), detail::address(list), static_cast<int>(numbers.size())};
    return {run_on<System>(device, trial, options)};
  });
}

}  // namespace incontext::simulate
