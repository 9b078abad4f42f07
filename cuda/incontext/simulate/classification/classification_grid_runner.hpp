#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/classification/classification_grid_trial.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/memory.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/engine/waves.hpp"
#include "incontext/statistics/moments.hpp"

/// Runs a grid of classifiers. The contexts of one chunk of trials are drawn once; then a few rows of the grid at a
/// time are evaluated and summed up, while their values are still in the cache. The results have the same bits as those
/// of run_on.
namespace incontext::simulate::detail {

/// The memory of a wave's contexts: the W trials of a batch side by side on a CPU, all trials of the wave on a GPU.
template <class T, int W>
struct ChunkMemory {
  T* base;
  std::int64_t rows;
  std::int64_t stride;

  INCONTEXT_HD LaneArray<T, W> batch(std::int64_t at) const {
    return {base + (W == 1 ? at : at * W * rows), W == 1 ? stride : W};
  }
};

/// Draws the contexts of one batch of trials.
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

/// Evaluates one row of a block of rows on one batch of trials, where index = row * batches + batch. The values of a
/// row are its losses, its accuracy and, if there is a reference, the differences of its losses from the reference.
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
    const LaneArray<T, W> others{reference + batch * W, stride};
    for (int i = 0; i < gains; ++i) difference[i] = loss[i] - others[0];
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

/// Puts the moments of a wave's chunks in the order of the simulation. They come as those of a block's rows, chunk after
/// chunk, then the next block's, a row's as its losses, accuracy and differences; the simulation has each chunk's losses
/// of all rows first, then the accuracies, then the differences.
struct OrderMoments {
  const statistics::Moments* from;
  statistics::Moments* to;
  std::int64_t chunks;
  int rows, block, gains, row_outputs;

  INCONTEXT_HD void operator()(std::int64_t index) const {
    const std::int64_t of_block = chunks * block * row_outputs, first = index / of_block * block;
    const std::int64_t of_chunk = (first + block < rows ? block : rows - first) * row_outputs;
    const std::int64_t chunk = index % of_block / of_chunk, place = index % of_block % of_chunk;
    const std::int64_t row = first + place / row_outputs, output = place % row_outputs;
    const std::int64_t losses = std::int64_t{rows} * gains;
    const std::int64_t ordered = output < gains    ? row * gains + output
                                 : output == gains ? losses + row
                                                   : losses + rows + row * gains + output - gains - 1;
    to[chunk * rows * row_outputs + ordered] = from[index];
  }
};

template <class System, class T>
class GridRunner {
 public:
  GridRunner(Device device, const ClassificationGridTrial<T>& trial, const Options& options)
      : trial_(trial),
        options_(options),
        workers_{device, options.threads},
        row_outputs_(trial.gain_count * (trial.reference < 0 ? 1 : 2) + 1),
        block_(static_cast<int>(std::clamp<std::int64_t>(most_of_block(), 1, trial.row_count))),
        waves_(options_, identity_of<T>(options, trial.outputs()), most_chunks()) {
    make_room_for(chunk_trials);
  }

  Simulation run() {
    waves_.run_until(options_.trials,
                     [this](std::int64_t first, std::int64_t trials) { return run_wave(first, trials); });
    return waves_.template result<T>(rounding_in_eps<ClassificationGridTrial<T>>(), workers_.device);
  }

 private:
  static constexpr int lanes = System::lanes;
  /// A wave on a GPU has up to so many chunks that their contexts fill it; on a CPU one, which stays in the cache.
  static constexpr std::int64_t full_wave = lanes == 1 ? chunks_that_fill_a_gpu : 1;

  /// The most rows whose values fit into the working memory beside one another: on a CPU a quarter of it.
  [[nodiscard]] std::int64_t most_of_block() const {
    if constexpr (lanes > 1) return System::working_numbers() / 4 / chunk_trials / row_outputs_;
    return System::working_numbers() / (full_wave * chunk_trials) / (row_outputs_ + trial_.row_rows());
  }

  [[nodiscard]] std::int64_t most_chunks() const {
    const std::int64_t per_trial = trial_.context_rows() + block_ * (row_outputs_ + trial_.row_rows());
    return std::clamp<std::int64_t>(System::working_numbers() / per_trial / chunk_trials, 1, full_wave);
  }

  void make_room_for(std::int64_t trials) {
    constexpr auto where = "simulate::classification_grid";
    constexpr auto points = "the kappas and gains";
    const std::int64_t rows = trial_.row_count;
    make_room(where, contexts_, {trials, trial_.context_rows(), "trials", growth_of<decltype(trial_)>()});
    make_room(where, own_, {trials * block_, trial_.row_rows(), "trials of a row", "the classes"});
    make_room(where, values_, {trials * block_, row_outputs_, "trials of a row", points});
    make_room(where, reference_, {trials, trial_.reference < 0 ? 0 : 2, "trials", "nothing"});
    for (auto* moments : {&moments_, &ordered_}) {
      make_room(where, *moments, {trials / chunk_trials * rows, row_outputs_, "rows of a chunk", points});
    }
  }

  /// The moments of the wave's chunks, one after the other; none if a stop request cut the wave short.
  std::vector<statistics::Moments> run_wave(std::int64_t first, std::int64_t trials) {
    const std::int64_t batches = (trials + lanes - 1) / lanes;
    const std::int64_t chunks = (trials + chunk_trials - 1) / chunk_trials;
    const std::int64_t stride = chunks * chunk_trials;
    make_room_for(stride);
    const ChunkMemory<T, lanes> contexts{address(contexts_), trial_.context_rows(), stride};
    const ChunkMemory<T, lanes> own{address(own_), trial_.row_rows(), lanes == 1 ? stride * block_ : stride};
    System::for_each_index(batches, workers_, PrepareContexts<T, lanes>{trial_, options_.seed, first, contexts});
    RunGridRows<T, lanes> run{trial_, contexts, own, batches, 0, 1, 0, 1, address(values_), stride, nullptr};
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
      run_blocks(run, chunks, trials);
    } else {
      System::for_each_index(block_, workers_,
                             SumGridRows<T, lanes>{run, block_, row_outputs_, trials, address(moments_)});
    }
    if (InterruptGuard::requested()) return {};
    const int block = lanes == 1 ? block_ : trial_.row_count;
    const std::int64_t count = chunks * trial_.outputs();
    System::for_each_index(count, workers_,
                           OrderMoments{address(moments_), address(ordered_), chunks, trial_.row_count, block,
                                        trial_.gain_count, row_outputs_});
    return copy_to_host(ordered_, 0, count);
  }

  /// Evaluates all rows of a block and all trials in one loop, so that a GPU has enough threads.
  void run_blocks(RunGridRows<T, lanes> run, std::int64_t chunks, std::int64_t trials) {
    for (int row = 0; row < trial_.row_count; row += block_) {
      run.first_row = row;
      run.rows = (std::min)(block_, trial_.row_count - row);
      System::for_each_index(run.batches * run.rows, workers_, run);
      System::for_each_by_ways(chunks * run.rows * row_outputs_, workers_,
                               SumChunk<T>{run.values, run.stride, trials, run.rows * row_outputs_,
                                           address(moments_) + chunks * row * row_outputs_});
    }
  }

  ClassificationGridTrial<T> trial_;
  Options options_;
  Workers workers_;
  int row_outputs_;
  int block_;  ///< rows evaluated at a time
  Waves<System> waves_;
  typename System::template Memory<T> contexts_, own_, values_, reference_;
  typename System::template Memory<statistics::Moments> moments_, ordered_;
};

}  // namespace incontext::simulate::detail
