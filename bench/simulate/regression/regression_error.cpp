#include "incontext/simulate/regression/regression_error.hpp"

#include <cstdint>

#include "bench/simulate/trials.hpp"

// One run of every simulator at d = 20, l = 100 and 8 temperatures: literal, conditional, sufficient statistics.

namespace {

using namespace incontext;
using bench::Approximate;
using bench::Linear;
using bench::Softmax;
using simulate::Estimator;

template <class T, class Map, Estimator estimator>
void regression_error(benchmark::State& state) {
  const bench::Workload workload = bench::make_workload();
  bench::run_trials<T, Map>(state, workload, estimator, bench::usual_options(state.range(0)));
}

}  // namespace

#define INCONTEXT_TRIALS(T, map, estimator, trials) \
  BENCHMARK_TEMPLATE(regression_error, T, map, Estimator::estimator)->ArgName("trials")->Arg(trials)->UseRealTime()

INCONTEXT_TRIALS(float, Approximate, literal, 8192);
INCONTEXT_TRIALS(float, Linear, literal, 8192);
INCONTEXT_TRIALS(float, Softmax, literal, 2048);
INCONTEXT_TRIALS(float, Approximate, conditional, 8192);
INCONTEXT_TRIALS(float, Linear, conditional, 8192);
INCONTEXT_TRIALS(float, Approximate, sufficient_statistics, 8192);
INCONTEXT_TRIALS(float, Linear, sufficient_statistics, 8192);
#if !defined(__CUDACC__)  // every simulator costs nvcc half a minute
INCONTEXT_TRIALS(double, Approximate, literal, 8192);
INCONTEXT_TRIALS(double, Linear, literal, 8192);
INCONTEXT_TRIALS(double, Softmax, literal, 2048);
INCONTEXT_TRIALS(double, Approximate, conditional, 8192);
INCONTEXT_TRIALS(double, Linear, conditional, 8192);
INCONTEXT_TRIALS(double, Approximate, sufficient_statistics, 8192);
INCONTEXT_TRIALS(double, Linear, sufficient_statistics, 8192);
#endif
