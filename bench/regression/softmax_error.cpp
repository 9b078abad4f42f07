#include "incontext/regression/softmax_error_isotropic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

#include "bench/support/answer.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"

// The exact error of true softmax attention, and the time that the fastest simulation would take for the same digits.

namespace {

using namespace incontext;
using Softmax = scoring::Softmax<double>;

constexpr double accuracy = 1e-8;  // relative

struct Case {
  regression::IsotropicTask<double> task;
  regression::IsotropicAttention<double> attention;
  std::int64_t context_length;

  [[nodiscard]] numerics::Quadrature<double> error(double temperature) const {
    return regression::softmax_error_isotropic(attention, task, context_length, Softmax{temperature});
  }
  [[nodiscard]] simulate::Simulation simulation(const std::vector<double>& temperatures, std::int64_t trials) const {
    std::vector<Softmax> maps;
    for (const double t : temperatures) maps.push_back({t});
    const auto d = task.dimension;
    const regression::Attention<double> general{attention.key_query_scale * regression::Matrix<double>::Identity(d, d),
                                                regression::Vector<double>::Zero(d), attention.label_value};
    const std::clock_t before = std::clock();
    auto result =
        simulate::reduced_softmax_error(general, regression::LinearTask<double>::isotropic(task), context_length, maps,
                                        {.seed = 5, .trials = trials, .device = simulate::Device::serial});
    // Processor time, like that of the other side: a busy machine must not make simulation look slow.
    result.seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    return result;
  }
};

Case make_case(std::int64_t dimension, std::int64_t context_length) {
  return {{dimension, 1.0, 1.0 / static_cast<double>(dimension), 0.1}, {}, context_length};
}

/// The seconds for which one core would have to simulate until every standard error is `accuracy`, extrapolated from a
/// run.
double seconds_for_accuracy(const simulate::Simulation& simulation) {
  double needed = 0;
  for (const auto& estimate : simulation.estimates) {
    const double ratio = estimate.relative_error() / accuracy;
    needed = std::max(needed, ratio * ratio * simulation.seconds);
  }
  return needed;
}

/// Whether quadrature and simulation agree at every temperature; the former is known to `accuracy`.
bool is_right(benchmark::State& state, const Case& at, const std::vector<double>& temperatures,
              const simulate::Simulation& simulation) {
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    const auto exact = at.error(temperatures[i]);
    if (!(exact.error_estimate <= accuracy * exact.value)) {
      bench::refuse(state, "wrong answer: the error estimate is too large");
      return false;
    }
    if (!bench::agrees(state, exact.value, simulation.estimates[i])) return false;
  }
  return true;
}

/// The seconds of simulation divided by those of quadrature.
benchmark::Counter times_quicker(const simulate::Simulation& simulation) {
  return {seconds_for_accuracy(simulation), benchmark::Counter::kIsIterationInvariantRate};
}

void softmax_error_isotropic(benchmark::State& state) {
  const Case at = make_case(state.range(0), state.range(1));
  const std::vector<double> temperatures{0.01 * static_cast<double>(state.range(2))};
  const std::int64_t most_scores = 1 << 24,
                     trials = std::clamp<std::int64_t>(most_scores / state.range(1), 192, 1 << 14);
  const auto simulation = at.simulation(temperatures, trials);
  if (!is_right(state, at, temperatures, simulation)) return;
  for (auto _ : state) benchmark::DoNotOptimize(at.error(temperatures[0]));
  state.SetItemsProcessed(state.iterations());
  state.counters["times_quicker_than_simulation"] = times_quicker(simulation);
}

void temperature_curve(benchmark::State& state) {
  const Case at = make_case(state.range(0), state.range(1));
  std::vector<double> temperatures;
  for (int i = 0; i < 50; ++i) temperatures.push_back(0.3 * std::pow(30.0, i / 49.0));
  const auto simulation = at.simulation(temperatures, 1 << 12);
  if (!is_right(state, at, temperatures, simulation)) return;
  for (auto _ : state) {
    for (const double temperature : temperatures) benchmark::DoNotOptimize(at.error(temperature));
  }
  state.SetItemsProcessed(state.iterations() * 50);
  state.counters["times_quicker_than_simulation"] = times_quicker(simulation);
}

}  // namespace

BENCHMARK(softmax_error_isotropic)
    ->ArgNames({"d", "l", "temperature_percent"})
    ->Args({4, 50, 150})
    ->Args({20, 100, 150})
    ->Args({20, 10000, 150})
    ->Args({20, 1000000, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(temperature_curve)->ArgNames({"d", "l"})->Args({4, 50})->Args({20, 100})->Unit(benchmark::kMillisecond);
