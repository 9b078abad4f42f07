#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/memory.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/trials/classification_grid.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

/// Runs a grid of classifiers: the contexts of a chunk are drawn once, then a few rows of the grid at a time are
/// evaluated and summed up, while their values are still in the cache. The results have the bits of run_on.
namespace incontext::simulate::detail {

/// The memory of a chunk's contexts: the W trials of a batch side by side on a CPU, all trials of a chunk on a GPU.
template <class T, int W>
struct ChunkMemory {
  T* base;
  std::int64_t rows;
  std::int64_t stride;

  INCONTEXT_HD LaneArray<T, W> batch(std::int64_t at) const {
    return {base + (W == 1 ? at : at * W * rows), W == 1 ? stride : W};
  }
};

template <class T, int W>
struct PrepareContexts {
  static constexpr std::string_view task = "drawing contexts";
  ClassificationGridTrial<T> trial;
  std::uint64_t seed;
  std::int64_t first_trial;
  ChunkMemory<T, W> contexts;

  INCONTEXT_HD void operator()(std::int64_t batch) const {
    if (stop_requested()) [[unlikely]]
      return;
    trial.prepare(random::Trials<W>{seed, static_cast<std::uint64_t>(first_trial + batch * W)}, contexts.batch(batch));
  }
};

/// Evaluates one row of a block for one batch, where index = row * batches + batch. The values of a row are its losses,
/// its accuracy, then its differences.
template <class T, int W>
struct RunGridRows {
  static constexpr std::string_view task = "evaluating rows of the grid";
  ClassificationGridTrial<T> trial;
  ChunkMemory<T, W> contexts, own;
  std::int64_t batches;
  int first_row, rows, first_gain, gains;
  T* values;
  std::int64_t stride;
  T* reference;

  INCONTEXT_HD void operator()(std::int64_t index) const {
    if (stop_requested()) [[unlikely]]
      return;
    const int row = static_cast<int>(index / batches);
    const std::int64_t batch = index % batches;
    const int outputs = gains * (reference == nullptr ? 1 : 2) + 1;
    LaneArray<T, W> here{values + std::int64_t{row} * outputs * stride + batch * W, stride};
    const auto loss = here.take(gains), is_right = here.take(1), difference = here;
    trial.run_row(contexts.batch(batch), own.batch(index), first_row + row, {first_gain, gains}, loss, is_right[0]);
    if (reference == nullptr) return;
    const Lanes<T, W>& other = LaneArray<T, W>{reference + batch * W, stride}[0];
    for (int i = 0; i < gains; ++i) difference[i] = loss[i] - other;
  }
};

/// Evaluates and sums up every `tasks`-th row of the grid, one after the other, in the task's own memory. The values
/// that a CPU thread sums are thus in its cache, and threads wait for one another only once per chunk.
template <class T, int W>
struct SumGridRows {
  RunGridRows<T, W> run;
  std::int64_t tasks;
  int row_outputs;
  std::int64_t trials;
  statistics::Moments* moments;

  INCONTEXT_HD void operator()(std::int64_t task) const {
    RunGridRows<T, W> here = run;
    here.own.base += here.own.rows * here.own.stride * task;
    here.values += row_outputs * here.stride * task;
    for (std::int64_t row = task; row < run.trial.row_count && !stop_requested(); row += tasks) {
      here.first_row = static_cast<int>(row);
      for (std::int64_t batch = 0; batch < run.batches; ++batch) here(batch);
      const SumChunk<T> sum{here.values, here.stride, trials, row_outputs, moments + row * row_outputs};
      for (int i = 0; i < row_outputs; ++i) sum(i);
    }
  }
};

template <class System, class T>
class GridRunner {
 public:
  GridRunner(Device device, const ClassificationGridTrial<T>& trial, const Options& options)
      : trial_(trial),
        options_(options),
        workers_{device, options.threads},
        trees_(static_cast<std::size_t>(trial.outputs())),
        row_outputs_(trial.gain_count * (trial.reference < 0 ? 1 : 2) + 1),
        block_(static_cast<int>(std::clamp<std::int64_t>(most / chunk_trials / row_outputs_, 1, trial.row_count))) {
    constexpr auto where = "simulate::classification_grid";
    constexpr auto points = "the kappas and gains";
    make_room(where, contexts_, {chunk_trials, trial.context_rows(), "trials", growth_of<decltype(trial_)>()});
    make_room(where, own_, {chunk_trials * block_, trial.row_rows(), "trials of a row", "the classes"});
    make_room(where, values_, {chunk_trials * block_, row_outputs_, "trials of a row", points});
    make_room(where, reference_, {chunk_trials, trial.reference < 0 ? 0 : 2, "trials", "nothing"});
    make_room(where, moments_, {trial.row_count, row_outputs_, "rows", points});
  }

  Simulation run() {
    Simulation simulation;
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    if (options_.progress) options_.progress({0, options_.trials, seconds()});
    while (simulation.trials < options_.trials && !simulation.interrupted) {
      const std::int64_t trials = std::min(chunk_trials, options_.trials - simulation.trials);
      simulation.interrupted = !run_chunk(simulation.trials, trials);
      if (simulation.interrupted) break;
      simulation.trials += trials;
      if (options_.progress) options_.progress({simulation.trials, options_.trials, seconds()});
      simulation.interrupted = InterruptGuard::requested() && simulation.trials < options_.trials;
    }
    for (const auto& tree : trees_) {
      simulation.estimates.push_back(estimate_of<T>(tree.total(), rounding_in_eps<ClassificationGridTrial<T>>()));
    }
    simulation.device = workers_.device;
    simulation.seconds = seconds();
    return simulation;
  }

 private:
  static constexpr int lanes = System::lanes;
  /// The most numbers in working memory at a time.
  static constexpr std::int64_t most = lanes == 1 ? std::int64_t{1} << 26 : std::int64_t{1} << 21;

  /// Returns false if a stop request cut the chunk short; nothing of the chunk is then kept.
  bool run_chunk(std::int64_t first, std::int64_t trials) {
    const std::int64_t batches = (trials + lanes - 1) / lanes;
    const ChunkMemory<T, lanes> contexts{address(contexts_), trial_.context_rows(), chunk_trials};
    const ChunkMemory<T, lanes> own{address(own_), trial_.row_rows(), chunk_trials};
    System::for_each_index(batches, workers_, PrepareContexts<T, lanes>{trial_, options_.seed, first, contexts});
    RunGridRows<T, lanes> run{trial_, contexts, own, batches, 0, 1, 0, 1, address(values_), chunk_trials, nullptr};
    if (trial_.reference >= 0) {
      RunGridRows<T, lanes> one = run;
      one.first_row = trial_.reference / trial_.gain_count;
      one.first_gain = trial_.reference % trial_.gain_count;
      one.values = address(reference_);
      System::for_each_index(batches, workers_, one);
      run.reference = address(reference_);
    }
    run.gains = trial_.gain_count;
    if constexpr (lanes == 1) {
      run_blocks(run, trials);
    } else {
      System::for_each_index(block_, workers_,
                             SumGridRows<T, lanes>{run, block_, row_outputs_, trials, address(moments_)});
    }
    if (is_cut<System>()) return false;
    push();
    return true;
  }

  /// Evaluates all rows of a block and all trials in one loop, so that a GPU has enough threads.
  void run_blocks(RunGridRows<T, lanes> run, std::int64_t trials) {
    run.own.stride = chunk_trials * block_;
    for (int row = 0; row < trial_.row_count; row += block_) {
      run.first_row = row;
      run.rows = std::min(block_, trial_.row_count - row);
      System::for_each_index(run.batches * run.rows, workers_, run);
      System::for_each_by_ways(std::int64_t{run.rows} * row_outputs_, workers_,
                               SumChunk<T>{run.values, chunk_trials, trials, run.rows * row_outputs_,
                                           address(moments_) + std::int64_t{row} * row_outputs_});
    }
  }

  /// A row's moments are its losses, accuracy and differences; the trees keep all losses first.
  void push() {
    const std::vector<statistics::Moments> host = copy_home(moments_, 0, std::int64_t{trial_.row_count} * row_outputs_);
    const int gains = trial_.gain_count;
    for (int row = 0; row < trial_.row_count; ++row) {
      for (int i = 0; i < row_outputs_; ++i) {
        const int at = i < gains    ? row * gains + i
                       : i == gains ? trial_.losses() + row
                                    : trial_.losses() + trial_.row_count + row * gains + i - gains - 1;
        trees_[static_cast<std::size_t>(at)].push(host[static_cast<std::size_t>(row * row_outputs_ + i)]);
      }
    }
  }

  ClassificationGridTrial<T> trial_;
  Options options_;
  Workers workers_;
  std::vector<statistics::MomentsTree> trees_;
  int row_outputs_;
  int block_;  ///< rows evaluated at a time
  typename System::template Memory<T> contexts_, own_, values_, reference_;
  typename System::template Memory<statistics::Moments> moments_;
};

}  // namespace incontext::simulate::detail
