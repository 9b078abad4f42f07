#include "incontext/apply/attention.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/apply/layer.hpp"
#include "bench/support/answer.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

// One layer of attention, 4096 queries and keys of 64 components in float, beside three steps of Eigen that hold the
// matrix of weights. Argument: threads. Items are scores.

namespace {

using namespace incontext;

constexpr Eigen::Index length = 4096;
constexpr Eigen::Index dimension = 64;
constexpr float temperature = 8;

bench::Layer& layer() {
  static bench::Layer instance = bench::make_layer(length, dimension);
  return instance;
}

void declare(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * length * length); }

bool right(benchmark::State& state, double truth) {
  return bench::equals(state, truth, static_cast<double>(layer().out(length - 1, 0)), 1e-3);
}

void three_steps_of_eigen(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  bench::three_steps(layer(), temperature, threads);
  if (!right(state, bench::output_by_definition(layer(), static_cast<double>(temperature)))) return;
  for (auto _ : state) {
    bench::three_steps(layer(), temperature, threads);
    benchmark::ClobberMemory();
  }
  declare(state);
}

template <class Map>
void attend(const Map& map, int threads) {
  apply::attend(map, layer().queries, layer().keys, layer().values, layer().out, bench::with_threads(threads));
}

/// The last query's first output, computed by the map of one row.
template <class Map>
double by_rows(const Map& map) {
  const Eigen::VectorXf query = layer().queries.row(length - 1);
  Eigen::VectorXf row = layer().keys * query;
  weights(map, scoring::Row<const float>(row), scoring::Row<float>(row));
  return static_cast<double>(row.dot(layer().values.col(0)));
}

template <class Map>
void fused(benchmark::State& state, const Map& map, double truth) {
  const int threads = static_cast<int>(state.range(0));
  attend(map, threads);
  if (!right(state, truth)) return;
  for (auto _ : state) {
    attend(map, threads);
    benchmark::ClobberMemory();
  }
  declare(state);
}

void softmax(benchmark::State& state) {
  fused(state, scoring::Softmax<float>{temperature},
        bench::output_by_definition(layer(), static_cast<double>(temperature)));
}

template <class Map>
void any(benchmark::State& state, const Map& map) {
  fused(state, map, by_rows(map));
}

void ssmax(benchmark::State& state) { any(state, scoring::SSMax<float>{0.02f}); }
void ssa(benchmark::State& state) { any(state, scoring::SSA<float>{}); }
void linear(benchmark::State& state) { any(state, scoring::LinearAttention<float>{temperature}); }
void normsoftmax(benchmark::State& state) { any(state, scoring::NormSoftmax<float>{temperature}); }

void by_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
  if (bench::all_threads() > 1) benchmark->Arg(bench::all_threads());
}

}  // namespace

BENCHMARK(three_steps_of_eigen)->Apply(by_threads);
BENCHMARK(softmax)->Apply(by_threads);
BENCHMARK(ssmax)->Apply(by_threads);
BENCHMARK(ssa)->Apply(by_threads);
BENCHMARK(linear)->Apply(by_threads);
BENCHMARK(normsoftmax)->Apply(by_threads);
