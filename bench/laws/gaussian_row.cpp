#include "incontext/laws/gaussian_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <future>
#include <map>
#include <tuple>

#include "bench/support/answer.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/simulate/rows/score_rows.hpp"

// Exact functionals of a row of normal scores, and the time that simulation on one core would take for the same digits.

namespace {

using namespace incontext;
using simulate::RowFunctional;

constexpr double accuracy = 1e-10;  // relative

/// A row of `count` scores at `theta` times the critical score standard deviation, with a needle that has half of the
/// weight or less.
struct Row {
  double count, score_stddev, exponent;

  explicit Row(const benchmark::State& state)
      : count(static_cast<double>(state.range(0))),
        score_stddev(0.01 * static_cast<double>(state.range(1)) * laws::critical_score_stddev(count)),
        exponent(laws::quenched_log_partition(count, score_stddev)) {}

  [[nodiscard]] double ipr() const { return laws::gaussian_row(count, score_stddev).ipr; }
  [[nodiscard]] double largest() const { return laws::largest_weight(count, score_stddev).value; }
  [[nodiscard]] double needle() const { return laws::needle_weight(count, score_stddev, exponent).value; }
};

struct Simulated {
  simulate::ScoreRowSimulation run;
  double seconds = 0;

  /// The seconds for which one core would have to simulate until the standard error is `accuracy`.
  [[nodiscard]] double seconds_for_accuracy(RowFunctional functional) const {
    const double ratio = run.at(0, functional).relative_error() / accuracy;
    return ratio * ratio * seconds;
  }
};

/// One simulation gives every functional of a row, and another one its needle.
const Simulated& simulated(const Row& at, bool has_needle) {
  static std::map<std::tuple<double, double, bool>, Simulated> known;
  const auto [found, fresh] = known.try_emplace({at.count, at.score_stddev, has_needle});
  if (fresh) {
    const auto count = static_cast<std::int64_t>(at.count);
    simulate::ScoreRow row = simulate::normal_scores(count, 1);
    if (has_needle) row = row.with_needle(at.exponent / at.score_stddev);
    const std::int64_t trials = std::max<std::int64_t>(128, 16000000 / count);
    const std::clock_t before = std::clock();
    found->second.run = simulate::score_rows(row, {at.score_stddev},
                                             {.seed = 11, .trials = trials, .device = simulate::Device::serial});
    // Processor time, like that of the other side: a busy machine must not make simulation look slow.
    found->second.seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  }
  return found->second;
}

template <class Exact>
void functional(benchmark::State& state, RowFunctional kind, const Exact& exact) {
  const Row at(state);
  const Simulated& simulation = simulated(at, kind == RowFunctional::needle_weight);
  if (!bench::agrees(state, exact(at), simulation.run.at(0, kind))) return;
  for (auto _ : state) benchmark::DoNotOptimize(exact(at));
  state.SetItemsProcessed(state.iterations());
  state.counters["times_quicker_than_simulation"] = {simulation.seconds_for_accuracy(kind),
                                                     benchmark::Counter::kIsIterationInvariantRate};
}

void all_thirteen(benchmark::State& state) {
  functional(state, RowFunctional::ipr, [](const Row& at) { return at.ipr(); });
}
void largest_weight(benchmark::State& state) {
  functional(state, RowFunctional::largest_weight, [](const Row& at) { return at.largest(); });
}
void needle_weight(benchmark::State& state) {
  functional(state, RowFunctional::needle_weight, [](const Row& at) { return at.needle(); });
}

/// All functionals and the largest weight at `lengths` lengths up to 1e6 times 100 values of x up to 3 critical ones,
/// on two threads. Returns the mean of Y_2 + (1 - Y_2), two numbers from integrals of their own.
double phase_diagram(int lengths) {
  const auto half = [lengths](int first) {
    double sum = 0;
    for (int k = first; k < 100 * lengths; k += 2) {
      const double n = std::floor(10 * std::pow(1e5, (k / 100 + 0.5) / lengths));
      const double x = 0.03 * (k % 100 + 1) * laws::critical_score_stddev(n);
      const auto row = laws::gaussian_row(n, x);
      sum += (row.ipr + row.trace) / (100 * lengths);
      benchmark::DoNotOptimize(laws::largest_weight(n, x).value);
    }
    return sum;
  };
  auto other = std::async(std::launch::async, half, 1);
  const double own = half(0);
  return own + other.get();
}

void phase_diagram(benchmark::State& state) {
  const int lengths = static_cast<int>(state.range(0));
  if (!bench::equals(state, 1, phase_diagram(lengths), 1e-11)) return;
  for (auto _ : state) benchmark::DoNotOptimize(phase_diagram(lengths));
  state.SetItemsProcessed(state.iterations() * lengths * 100);
  state.counters["seconds_for_100_lengths"] = {
      lengths / 100.0, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void rows(benchmark::internal::Benchmark* one) {
  one->ArgNames({"n", "theta_percent"})->ArgsProduct({{1000}, {20, 50, 150}})->ArgsProduct({{1000000}, {20, 150}});
  one->Unit(benchmark::kMillisecond);
}

}  // namespace

BENCHMARK(all_thirteen)->Apply(rows);
BENCHMARK(largest_weight)->Apply(rows);
BENCHMARK(needle_weight)->Apply(rows);
BENCHMARK(phase_diagram)->ArgName("lengths")->Arg(5)->Unit(benchmark::kSecond)->UseRealTime();
