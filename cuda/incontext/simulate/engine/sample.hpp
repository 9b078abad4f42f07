#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate {

/// The values of every trial, for what a mean does not contain: medians, and the share of the largest trial.
///
/// Shapes    an output's values are contiguous and ascending.
/// Units     those of the trial.
/// Limits    NaN without trials.
struct Sample {
  std::vector<double> values;
  std::int64_t trials = 0;

  [[nodiscard]] const double* sorted(std::size_t output) const {
    return values.data() + output * static_cast<std::size_t>(trials);
  }
  [[nodiscard]] double median(std::size_t output) const {
    if (trials == 0) return std::numeric_limits<double>::quiet_NaN();
    const double* x = sorted(output);
    return (x[(trials - 1) / 2] + x[trials / 2]) / 2;
  }
  /// The share of the largest trial in the total.
  [[nodiscard]] double largest_share(std::size_t output) const {
    if (trials == 0) return std::numeric_limits<double>::quiet_NaN();
    const double* x = sorted(output);
    return x[trials - 1] / (statistics::moments_of(x, trials).mean * static_cast<double>(trials));
  }
};

/// The first `options.trials` trials of a run, each kept.
///
/// Source    as run_on: the same trials.
/// Shapes    as Sample: 8 bytes per trial and output, and during the run also the size of the trial's scalar.
/// Domain    options.trials >= 1.
/// Limits    after a stop request the sample has no trials.
/// Errors    std::invalid_argument, also if there are not enough threads or memory.
/// Runs on   host (the trials: the system)
template <class System, Trial TrialType>
Sample sample_on(const TrialType& trial, const Options& options) {
  using T = typename TrialType::Scalar;
  constexpr auto where = "simulate::sample_on";
  require_at_least(where, "trials", options.trials, std::int64_t{1});
  constexpr int lanes = System::lanes;
  const std::int64_t per_trial = (std::max<std::int64_t>)(trial.scratch_rows(), 1);
  detail::WaveSize<System> wave((std::max<std::int64_t>)(System::working_numbers() / per_trial / chunk_trials, 1));
  const std::int64_t stride = (options.trials + lanes - 1) / lanes * lanes;
  const detail::Workers workers = detail::workers_of(options);
  typename System::template Memory<T> values, scratch;
  Sample result{{}, options.trials};
  detail::make_room(where, result.values, {options.trials, trial.outputs(), "trials", "the number of points"});
  for (std::int64_t done = 0, trials = 0; done < stride; done += trials) {
    const detail::Stopwatch clock;
    trials = (std::min)(wave.chunks() * chunk_trials, stride - done);
    const std::int64_t batches = trials / lanes, slot_count = detail::scratch_slots<System>(trial, batches, workers);
    detail::make_room_for_trials<System>(where, trial, stride, values, slot_count, scratch);
    detail::run_trials<System, TrialType>({trial, options.seed, done, batches, slot_count,
                                           detail::address(values) + done, stride, detail::address(scratch)},
                                          workers);
    if (InterruptGuard::requested()) return {};
    wave.grow(clock.seconds());
  }
  for (std::int64_t k = 0; k < trial.outputs(); ++k) {
    if (InterruptGuard::requested()) return {};
    const std::vector<T> unsorted = detail::copy_to_host(values, k * stride, options.trials);
    const auto sorted = result.values.begin() + k * options.trials;
    std::copy(unsorted.begin(), unsorted.end(), sorted);
    std::sort(sorted, sorted + options.trials);
  }
  return result;
}

}  // namespace incontext::simulate
