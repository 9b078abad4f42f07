#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/support/answer.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/engine/device.hpp"

// How time grows with the length of a row, and for grids of classifiers with the number of classes, of kappas, and of
// context points. A row's time per score should grow only where the row leaves a cache.

namespace {

using namespace incontext;
using simulate::ClassificationRule;

/// Items are scores: softmax of one row.
void row_length(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> scores(n), weights_of_row(n);
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    scores[i] = static_cast<float>(std::sin(1.3 + 2.9 * static_cast<double>(i)));
    total += std::exp(static_cast<double>(scores[i]));
  }
  const scoring::Softmax<float> map{1};
  const scoring::Row<const float> row(scores);
  const scoring::Row<float> out(weights_of_row);
  weights(map, row, out);
  const double expected = std::exp(static_cast<double>(scores[0])) / total;
  if (!bench::equals(state, expected, static_cast<double>(weights_of_row[0]), 1e-5)) return;
  for (auto _ : state) {
    weights(map, row, out);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// Items are contexts: losses at all kappas and 50 gains.
void grid_of(benchmark::State& state, const simulate::SphereTask& task, int kappas) {
  simulate::Options options;
  options.trials = 256;
  options.device = simulate::device_named(bench::settings().device);
  const simulate::ClassificationGrid grid{ClassificationRule::adaptive, simulate::log_grid(0.1, 300, kappas),
                                          simulate::log_grid(1, 3000, 50)};
  const std::size_t kappa = grid.kappas.size() / 2, gain = grid.gains.size() / 2;
  const auto single = simulate::classification(task, {grid.classifier(grid.kappas[kappa], grid.gains[gain])}, options);
  const auto run = simulate::classification_grid(task, grid, options);
  const double expected = single.at(0, simulate::ClassificationMetric::loss).mean;
  if (!bench::equals(state, expected, run.loss(kappa, gain).mean, 1e-5)) return;
  for (auto _ : state) {
    ++options.seed;
    benchmark::DoNotOptimize(simulate::classification_grid(task, grid, options));
  }
  state.SetItemsProcessed(state.iterations() * options.trials);
}

void classes(benchmark::State& state) { grid_of(state, {5, static_cast<int>(state.range(0)), 100}, 50); }
void kappas(benchmark::State& state) { grid_of(state, {5, 5, 100}, static_cast<int>(state.range(0))); }
void points(benchmark::State& state) { grid_of(state, {5, 5, static_cast<int>(state.range(0))}, 50); }

}  // namespace

BENCHMARK(row_length)->ArgName("n")->RangeMultiplier(10)->Range(100, 10000000);
BENCHMARK(classes)->ArgName("classes")->Arg(2)->Arg(5)->Arg(20)->Arg(50)->UseRealTime();
BENCHMARK(kappas)->ArgName("kappas")->Arg(10)->Arg(50)->Arg(250)->UseRealTime();
BENCHMARK(points)->ArgName("n")->Arg(100)->Arg(400)->Arg(1600)->UseRealTime();
