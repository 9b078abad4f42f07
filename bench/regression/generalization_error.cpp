#include "incontext/regression/generalization_error.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "bench/support/answer.hpp"
#include "bench/support/workload.hpp"
#include "incontext/regression/centered_ridge_risk.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/pretrained_attention.hpp"

// Closed forms for a general d x d law: they cost one or two matrix products, whatever the context length.

namespace {

using namespace incontext;

/// The label's own variance. At an infinite temperature every error equals it, apart from that of the mean label, which
/// attention then predicts.
double label_variance(const bench::Workload& workload) {
  return workload.task.noise_variance() +
         (workload.task.input_second_moment() * workload.task.task_second_moment()).trace();
}

void generalization_error(benchmark::State& state) {
  const auto w = bench::make_workload(state.range(0));
  // A law of the same family, for which the optimal temperature has a closed form of its own.
  const double scale = w.attention.key_query(0, 0);
  const regression::IsotropicTask<double> law{w.task.dimension(), w.task.input_covariance()(0, 0),
                                              w.task.task_covariance()(0, 0), w.task.noise_variance()};
  const double optimal =
      regression::optimal_temperature_isotropic<double>({scale, w.attention.label_value}, law, w.context_length);
  if (!bench::equals(state, optimal, w.error.optimal_temperature())) return;
  for (auto _ : state) {
    benchmark::DoNotOptimize(regression::generalization_error(w.attention, w.task, w.context_length));
  }
  state.SetItemsProcessed(state.iterations());
}

/// The same while two threads for each processor do something else: a closed form that waits for threads of its own
/// then takes a hundred times as long.
void generalization_error_beside_busy_cores(benchmark::State& state) {
  std::atomic<bool> ended = false;
  std::vector<std::jthread> others;
  for (unsigned k = 0; k < 2 * std::thread::hardware_concurrency(); ++k) {
    others.emplace_back([&ended] {
      while (!ended.load(std::memory_order_relaxed)) {
      }
    });
  }
  generalization_error(state);
  ended = true;
}

void linear_attention_error(benchmark::State& state) {
  const auto w = bench::make_workload(state.range(0));
  const auto error = regression::linear_attention_error(w.attention, w.task, w.context_length);
  if (!bench::equals(state, label_variance(w), error.constant)) return;
  for (auto _ : state) {
    benchmark::DoNotOptimize(regression::linear_attention_error(w.attention, w.task, w.context_length));
  }
  state.SetItemsProcessed(state.iterations());
}

void pretrained_attention(benchmark::State& state) {
  const auto w = bench::make_workload(state.range(0));
  const auto attention = regression::pretrained_attention(w.task, w.context_length);
  const double ridge = w.task.noise_variance() / static_cast<double>(w.context_length) / w.task.task_covariance()(0, 0);
  if (!bench::equals(state, 1 / (w.task.input_covariance()(0, 0) + ridge), attention.key_query(0, 0))) return;
  for (auto _ : state) benchmark::DoNotOptimize(regression::pretrained_attention(w.task, w.context_length));
  state.SetItemsProcessed(state.iterations());
}

void bayes_risk(benchmark::State& state) {
  const auto w = bench::make_workload(state.range(0));
  const regression::IsotropicTask<double> law{w.task.dimension(), w.task.input_covariance()(0, 0),
                                              w.task.task_covariance()(0, 0), w.task.noise_variance()};
  const double risk = regression::centered_ridge_risk_equivalent(w.task, w.context_length).risk;
  if (!bench::equals(state, regression::centered_ridge_risk_isotropic_limit(law, w.context_length), risk)) return;
  for (auto _ : state) {
    benchmark::DoNotOptimize(regression::centered_ridge_risk_equivalent(w.task, w.context_length));
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

BENCHMARK(generalization_error)->ArgName("d")->Arg(20)->Arg(200)->Arg(1000);
BENCHMARK(generalization_error_beside_busy_cores)->ArgName("d")->Arg(50)->Arg(200)->UseRealTime();
BENCHMARK(linear_attention_error)->ArgName("d")->Arg(20)->Arg(200);
BENCHMARK(pretrained_attention)->ArgName("d")->Arg(20)->Arg(200);
BENCHMARK(bayes_risk)->ArgName("d")->Arg(20)->Arg(200);
