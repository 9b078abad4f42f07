#include "incontext/simulate/classification/classifiers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/support/answer.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/sphere_points.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/device.hpp"

// Contexts of the sphere task beside plain rejection in the same lanes, and whole grids of classifiers.

namespace {

using namespace incontext;
using simulate::ClassificationRule;
using simulate::LaneArray;

constexpr int lanes = 64;

/// The paper's sampler: uniform proposals, which are accepted if their class is not full yet or is the wanted one. The
/// queries are of class 0.
struct PlainRejection {
  simulate::SphereTaskDraw<float> task;
  bool one_class_at_a_time;

  /// Proposals per point, over all lanes, until every lane has its context.
  double draw(std::uint64_t seed, std::uint64_t first, float* memory) const {
    const std::int64_t d = task.dimension, k = task.classes, m = task.class_size();
    const LaneArray<float, lanes> inputs{memory, lanes}, prototypes = inputs.after((k * m + 1) * d),
                                                         counts = prototypes.after(k * d), candidate = counts.after(k);
    const random::LaneStream<lanes> stream({seed, first}, random::StreamTag(80)),
        labels({seed, first}, random::StreamTag(81));
    const std::uint32_t blocks = random::sphere_blocks<float>(task.dimension);
    for (std::int64_t c = 0; c < k; ++c) {
      simulate::draw_sphere_point(prototypes.after(c * d), labels, static_cast<std::uint32_t>(c) * blocks,
                                  task.dimension);
      counts[c] = 0.0f;
    }
    int wanted[lanes] = {}, missing[lanes];
    std::fill_n(missing, lanes, static_cast<int>(k * m + 1));
    std::int64_t proposals = 0;
    for (std::uint32_t attempt = 0, left = lanes; left > 0; ++attempt) {
      simulate::draw_sphere_point(candidate, stream, attempt * blocks, task.dimension);
      const auto nearest = simulate::detail::find_nearest(prototypes, task.classes, candidate, task.dimension);
      left = 0;
      for (int lane = 0; lane < lanes; ++lane) {
        if (missing[lane] == 0) continue;
        ++proposals;
        const int c = static_cast<int>(nearest[lane]), quota = static_cast<int>(m) + (c == 0 ? 1 : 0);
        float& count = counts[c][lane];
        if (count < static_cast<float>(quota) && (!one_class_at_a_time || c == wanted[lane])) {
          const auto row = (c * m + (c == 0 ? 0 : 1) + static_cast<std::int64_t>(count)) * d;
          for (std::int64_t i = 0; i < d; ++i) inputs[row + i][lane] = candidate[i][lane];
          count += 1;
          --missing[lane];
          if (count == static_cast<float>(quota)) ++wanted[lane];
        }
        left += missing[lane] > 0 ? 1 : 0;
      }
    }
    return static_cast<double>(proposals) / (lanes * static_cast<double>(k * m + 1));
  }
};

enum class Sampler { wedges, rejection, one_class_at_a_time };

/// Draws one batch of contexts and counts proposals per point.
double draw(const simulate::SphereTaskDraw<float>& task, Sampler sampler, std::uint64_t first,
            std::vector<float>& memory) {
  if (sampler != Sampler::wedges) {
    return PlainRejection{task, sampler == Sampler::one_class_at_a_time}.draw(1, first, memory.data());
  }
  const LaneArray<float, lanes> rows{memory.data(), lanes};
  task.draw<lanes>({1, first}, rows);
  const auto& attempts = rows[task.attempts_row()];
  double sum = 0;
  for (int lane = 0; lane < lanes; ++lane) sum += static_cast<double>(attempts[lane]);
  return sum / (lanes * static_cast<double>(task.context_length + 1));
}

/// Whether the points of two classes have the mean component m_d toward their sides, as uniform ones must.
bool is_right(benchmark::State& state, const simulate::SphereTaskDraw<float>& task) {
  const simulate::SphereTaskDraw<float> two{task.dimension, 2, 2, simulate::ContextLaw::balanced};
  std::vector<float> memory(static_cast<std::size_t>(two.rows() * lanes));
  statistics::Moments moments;
  for (std::uint64_t first = 0; first < 64 * lanes; first += lanes) {
    const LaneArray<float, lanes> rows{memory.data(), lanes};
    two.draw<lanes>({1, first}, rows);
    for (int lane = 0; lane < lanes; ++lane) {
      double along = 0, square = 0;
      for (std::int64_t i = 0; i < two.dimension; ++i) {
        const auto prototypes = rows.after(two.prototypes_row());
        const double normal = static_cast<double>(prototypes[i][lane] - prototypes[two.dimension + i][lane]);
        along += normal * static_cast<double>(rows[i][lane]);
        square += normal * normal;
      }
      const double lean = along / std::sqrt(square);
      moments = statistics::merge(moments, statistics::moments_of(&lean, 1));
    }
  }
  return bench::agrees(state, classification::sphere_constants<double>(task.dimension).mean_absolute,
                       statistics::Estimate(moments));
}

/// Items are points.
void contexts(benchmark::State& state) {
  const auto d = static_cast<int>(state.range(0)), k = static_cast<int>(state.range(1));
  const auto sampler = static_cast<Sampler>(state.range(2));
  const simulate::SphereTaskDraw<float> task{d, k, 100, simulate::ContextLaw::balanced};
  if (!is_right(state, task)) return;
  std::vector<float> memory(static_cast<std::size_t>((task.rows() + 2 * d + 2 * k) * lanes));
  std::uint64_t first = 0;
  double proposals = 0;
  for (auto _ : state) {
    proposals += draw(task, sampler, first, memory);
    first += lanes;
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * lanes * 101);
  state.counters["proposals"] = proposals / static_cast<double>(state.iterations());
}

/// Items are points of the grid times contexts.
void grid(benchmark::State& state) {
  const simulate::SphereTask task{5, 5, 100};
  simulate::Options options;
  options.trials = state.range(0);
  options.device = simulate::device_named(bench::settings().device);
  const auto gains = simulate::log_grid(1, 3000, 100);
  const simulate::ClassificationGrid grid{ClassificationRule::adaptive, simulate::log_grid(0.1, 300, 100), gains};
  const auto single = simulate::classification(task, {grid.classifier(grid.kappas[40], gains[60])}, options);
  const auto run = simulate::classification_grid(task, grid, options);
  if (!bench::equals(state, single.at(0, simulate::ClassificationMetric::loss).mean, run.loss(40, 60).mean, 1e-5)) {
    return;
  }
  for (auto _ : state) {
    ++options.seed;
    benchmark::DoNotOptimize(simulate::classification_grid(task, grid, options));
  }
  state.SetItemsProcessed(state.iterations() * options.trials * 10000);
}

}  // namespace

BENCHMARK(contexts)
    ->ArgNames({"d", "k", "sampler"})
    ->ArgsProduct({{2, 3, 5, 10, 50}, {2, 5, 10}, {0, 1, 2}})
    ->UseRealTime();
BENCHMARK(grid)->ArgName("contexts")->Arg(2048)->UseRealTime();
