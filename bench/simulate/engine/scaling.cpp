#include <algorithm>
#include <cstdint>
#include <thread>

#include "bench/simulate/trials.hpp"

// How the literal trial's time grows with one parameter, the others being d = 20, l = 100, 8 temperatures, 8192 trials
// and all threads. The time per trial should be proportional to d and l, hardly depend on the number of temperatures,
// and not depend on the number of trials.

namespace {

using namespace incontext;
using bench::Approximate;
using simulate::Estimator;

/// The number of trials that gives every point of an axis about the same work; at least one chunk per thread.
std::int64_t same_work(const bench::Workload& workload) {
  const double usual = bench::make_workload().normals_per_trial();
  const auto trials = static_cast<std::int64_t>(8192 * usual / workload.normals_per_trial());
  return std::clamp<std::int64_t>(trials, 2048, 1 << 16);
}

void dimension(benchmark::State& state) {
  const auto workload = bench::make_workload(state.range(0));
  bench::run_trials<float, Approximate>(state, workload, Estimator::literal, bench::usual_options(same_work(workload)));
}

void context_length(benchmark::State& state) {
  const auto workload = bench::make_workload(bench::usual_dimension, state.range(0));
  bench::run_trials<float, Approximate>(state, workload, Estimator::literal, bench::usual_options(same_work(workload)));
}

void temperatures(benchmark::State& state) {
  const auto workload =
      bench::make_workload(bench::usual_dimension, bench::usual_context_length, static_cast<int>(state.range(0)));
  bench::run_trials<float, Approximate>(state, workload, Estimator::literal, bench::usual_options(8192));
}

void trials(benchmark::State& state) {
  bench::run_trials<float, Approximate>(state, bench::make_workload(), Estimator::literal,
                                        bench::usual_options(state.range(0)));
}

void threads(benchmark::State& state) {
  auto options = bench::usual_options(8192);
  options.device = simulate::Device::openmp;
  options.threads = static_cast<int>(state.range(0));
  bench::run_trials<float, Approximate>(state, bench::make_workload(), Estimator::literal, options);
}

}  // namespace

BENCHMARK(dimension)->ArgName("d")->Arg(5)->Arg(20)->Arg(80)->Arg(200)->UseRealTime();
BENCHMARK(context_length)->ArgName("l")->Arg(25)->Arg(100)->Arg(400)->Arg(1600)->UseRealTime();
BENCHMARK(temperatures)->ArgName("points")->Arg(1)->Arg(8)->Arg(64)->UseRealTime();
BENCHMARK(trials)->ArgName("trials")->Arg(1024)->Arg(8192)->Arg(65536)->UseRealTime();
BENCHMARK(threads)->ArgName("threads")->Arg(1)->Arg(2)->UseRealTime();
