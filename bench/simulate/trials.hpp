#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "bench/support/answer.hpp"
#include "bench/support/workload.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"

/// The common part of the simulator benchmarks: whole runs of a fixed number of trials, in wall-clock time.
namespace incontext::bench {

using Approximate = scoring::ApproximateSoftmax<double>;
using Linear = scoring::LinearAttention<double>;
using Softmax = scoring::Softmax<double>;

inline simulate::Options usual_options(std::int64_t trials) {
  simulate::Options options;
  options.trials = trials;
  options.device = simulate::device_named(settings().device);
  return options;
}

/// Whether every estimate agrees with its closed form. Softmax has one at high temperatures only, where it equals
/// approximate softmax up to terms in the scores over the temperature squared.
template <class T, class Map>
bool answers_right(benchmark::State& state, const Workload& workload, simulate::Estimator estimator,
                   const simulate::Options& options) {
  std::vector<double> temperatures = workload.temperatures;
  if constexpr (std::is_same_v<Map, Softmax>) {
    for (double& temperature : temperatures) temperature *= 30;
  }
  const auto error = std::is_same_v<Map, Linear> ? regression::linear_attention_error(workload.attention, workload.task,
                                                                                      workload.context_length)
                                                 : workload.error;
  const auto run = simulate::regression_error<T>(workload.attention, workload.task, workload.context_length,
                                                 simulate::at_temperatures<Map>(temperatures), options, {}, estimator);
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    if (!agrees(state, error(temperatures[i]), run.estimates[i])) return false;
  }
  return true;
}

/// The number of normals per trial, by the definition of each simulator; a chi-square counts as one.
inline double normals_per_trial(const Workload& workload, simulate::Estimator estimator) {
  const auto d = static_cast<double>(workload.task.dimension());
  const auto l = static_cast<double>(workload.context_length);
  switch (estimator) {
    case simulate::Estimator::literal:
      return workload.normals_per_trial();
    case simulate::Estimator::conditional:
      return d * (l + 1);
    default:
      return 3 * d + 1;
  }
}

/// Items are trials; the counter `normals` is standard normals consumed per second.
template <class T, class Map>
void run_trials(benchmark::State& state, const Workload& workload, simulate::Estimator estimator,
                simulate::Options options) {
  if (!answers_right<T, Map>(state, workload, estimator, options)) return;
  const auto maps = simulate::at_temperatures<Map>(workload.temperatures);
  for (auto _ : state) {
    ++options.seed;
    benchmark::DoNotOptimize(simulate::regression_error<T>(workload.attention, workload.task, workload.context_length,
                                                           maps, options, {}, estimator));
  }
  const auto trials = state.iterations() * options.trials;
  state.SetItemsProcessed(trials);
  state.counters["normals"] = benchmark::Counter(static_cast<double>(trials) * normals_per_trial(workload, estimator),
                                                 benchmark::Counter::kIsRate);
}

}  // namespace incontext::bench
