#include "incontext/apply/rows.hpp"

#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/apply/layer.hpp"
#include "bench/support/answer.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

// The weights of every row of a 4096 x 4096 float matrix, beside memcpy of the same bytes by as many threads. Argument:
// threads. Bytes are those of the matrix read and of the matrix written.

namespace {

using namespace incontext;

constexpr Eigen::Index length = 4096;

const bench::Matrix& scores() {
  static const bench::Matrix matrix = bench::normal_matrix(length, length, 1);
  return matrix;
}

bench::Matrix& output() {
  static bench::Matrix matrix = bench::Matrix::Zero(length, length);
  return matrix;
}

void declare(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * length * length);
  state.SetBytesProcessed(state.iterations() * length * length * 2 * static_cast<std::int64_t>(sizeof(float)));
}

void memory_copy(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  bench::copy(scores(), output(), threads);
  const double last = static_cast<double>(scores()(length - 1, length - 1));
  if (!bench::equals(state, last, static_cast<double>(output()(length - 1, length - 1)))) return;
  for (auto _ : state) {
    bench::copy(scores(), output(), threads);
    benchmark::ClobberMemory();
  }
  declare(state);
}

template <class Map, class Phi>
void rows(benchmark::State& state, const Map& map, Phi phi) {
  const auto options = bench::with_threads(static_cast<int>(state.range(0)));
  apply::weights(map, scores(), output(), options);
  const double weight = static_cast<double>(output()(length - 1, 0));
  if (!bench::equals(state, bench::weight_by_definition(scores(), phi), weight, 1e-5)) return;
  for (auto _ : state) {
    apply::weights(map, scores(), output(), options);
    benchmark::ClobberMemory();
  }
  declare(state);
}

void softmax(benchmark::State& state) {
  rows(state, scoring::Softmax<float>{1}, [](double z) { return z; });
}

void ssmax(benchmark::State& state) {
  rows(state, scoring::SSMax<float>{0.25f}, [](double z) { return 0.25 * std::log(4096.0) * z; });
}

void ssa(benchmark::State& state) {
  rows(state, scoring::SSA<float>{}, [](double z) { return (z < 0 ? -1.5 : 1.5) * std::log1p(std::abs(z)); });
}

void normsoftmax(benchmark::State& state) {  // capped at 1/4, below the standard deviation of a normal row
  rows(state, scoring::NormSoftmax<float>{0.25f}, [](double z) { return 4 * z; });
}

/// In place: the matrix is replaced by its weights, those by their weights, and so on, because the time does not depend
/// on the numbers.
void softmax_in_place(benchmark::State& state) {
  const auto options = bench::with_threads(static_cast<int>(state.range(0)));
  const scoring::Softmax<float> map;
  output() = scores();
  apply::weights(map, output(), output(), options);
  const double truth = bench::weight_by_definition(scores(), [](double z) { return z; });
  if (!bench::equals(state, truth, static_cast<double>(output()(length - 1, 0)), 1e-5)) return;
  for (auto _ : state) {
    apply::weights(map, output(), output(), options);
    benchmark::ClobberMemory();
  }
  declare(state);
}

void by_threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);
  if (bench::all_threads() > 1) benchmark->Arg(bench::all_threads());
}

}  // namespace

BENCHMARK(memory_copy)->Apply(by_threads);
BENCHMARK(softmax)->Apply(by_threads);
BENCHMARK(softmax_in_place)->Apply(by_threads);
BENCHMARK(ssmax)->Apply(by_threads);
BENCHMARK(ssa)->Apply(by_threads);
BENCHMARK(normsoftmax)->Apply(by_threads);
