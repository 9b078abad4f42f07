#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_contrasts_trial.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/classifiers.hpp"

namespace incontext::simulate {

/// Metrics of classifiers as classification() gives them, and paired differences of loss and accuracy.
///
///     using simulate::ClassificationRule;
///     const std::vector<simulate::Classifier> rules{{ClassificationRule::linear, 0, 20},
///                                                   {ClassificationRule::adaptive, 4, 5}};
///     const auto run = simulate::classification_contrasts({3, 3, 30}, rules, /*pairs=*/{{1, 0}},
///                                                         {.seed = 1, .trials = 4096});
///
/// Source    ClassificationContrastTrial.
/// Shapes    a point for each classifier, a contrast for each pair.
/// Domain    as classification(); 0 <= index < number of classifiers.
/// Errors    std::invalid_argument, std::domain_error.
/// Accuracy  as classification(); a difference has the rounding of both.
/// Random    as classification(): the same contexts.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float>
ClassificationContrasts classification_contrasts(const SphereTask& task, const std::vector<Classifier>& classifiers,
                                                 const std::vector<IndexPair>& pairs, const Options& options) {
  constexpr auto where = "simulate::classification_contrasts";
  validate(options);
  for (const IndexPair& pair : pairs) {
    for (const std::int32_t index : {pair.first, pair.second}) {
      require_at_least(where, "an index of a pair", index, 0);
      if (static_cast<std::size_t>(index) < classifiers.size()) continue;
      throw_invalid_argument(where, "an index of a pair is none of a classifier", index,
                             "less than " + std::to_string(classifiers.size()));
    }
  }
  const Device device = resolve(options.device, options.gpu);
  ClassificationContrasts contrasts;
  contrasts.classifiers = classifiers.size();
  contrasts.run = detail::with_classification_trial<T>(
      where, device, task, classifiers, [&](auto system, const ClassificationTrial<T>& trial) -> Simulation {
        using System = decltype(system);
        const typename System::template Memory<IndexPair> list(pairs.begin(), pairs.end());
        const ClassificationContrastTrial<T> paired{trial, detail::address(list), static_cast<int>(pairs.size())};
        return run_on<System>(device, paired, options);
      });
  auto& estimates = contrasts.run.estimates;
  const std::size_t first = classifiers.size() * detail::classification_metrics;
  for (std::size_t i = 0; i < first; ++i) {
    const Classifier& at = classifiers[i / detail::classification_metrics];
    const bool is_derivative =
        i % detail::classification_metrics == static_cast<std::size_t>(ClassificationMetric::sensitivity);
    estimates[i].rounding += detail::logit_rounding<T>(at) * (is_derivative ? 1 + std::abs(at.kappa) : 1);
  }
  for (std::size_t i = first; i < estimates.size(); ++i) {
    const IndexPair& pair = pairs[(i - first) / 2];
    const auto loss_of = [](std::int32_t point) {
      return static_cast<std::size_t>(point) * detail::classification_metrics;
    };
    estimates[i].rounding += estimates[loss_of(pair.first)].rounding + estimates[loss_of(pair.second)].rounding;
  }
  return contrasts;
}

}  // namespace incontext::simulate
