#include "incontext/simulate/regression/ridge_risk.hpp"

#include <cmath>
#include <cstdint>
#include <random>

#include "bench/support/answer.hpp"
#include "bench/support/workload.hpp"
#include "incontext/regression/centered_ridge.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"

namespace {

using namespace incontext;

/// The same risk, with contexts drawn by the standard library and the ridge regression of regression/.
statistics::Estimate risk_by_definition(const regression::LinearTask<double>& task, std::int64_t context_length) {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal(0, std::sqrt(task.input_covariance()(0, 0)));
  statistics::Moments moments;
  for (int i = 0; i < 256; ++i) {
    regression::Matrix<double> inputs(context_length, task.dimension());
    for (double& entry : inputs.reshaped()) entry = normal(engine);
    const double risk = regression::centered_ridge_risk(inputs, task);
    moments = statistics::merge(moments, statistics::moments_of(&risk, 1));
  }
  return statistics::Estimate(moments);
}

void centered_ridge_risk(benchmark::State& state) {
  const auto workload = bench::make_workload(state.range(0));
  simulate::Options options;
  options.trials = state.range(1);
  options.device = simulate::device_named(bench::settings().device);
  const auto run = simulate::centered_ridge_risk(workload.task, workload.context_length, options);
  const statistics::Estimate definition = risk_by_definition(workload.task, workload.context_length);
  statistics::Estimate both = run.estimates.front();
  both.standard_error = std::hypot(both.standard_error, definition.standard_error);
  if (!bench::agrees(state, definition.mean, both)) return;
  for (auto _ : state) {
    ++options.seed;
    benchmark::DoNotOptimize(simulate::centered_ridge_risk(workload.task, workload.context_length, options));
  }
  state.SetItemsProcessed(state.iterations() * options.trials);
}

}  // namespace

BENCHMARK(centered_ridge_risk)->ArgNames({"d", "trials"})->Args({5, 8192})->Args({20, 2048})->UseRealTime();
