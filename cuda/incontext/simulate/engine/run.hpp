#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/memory.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/segments.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/engine/waves.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate {

namespace detail {

template <class T, class Scalar, int W>
concept RunsOnLanes = requires(const T& trial, const random::Trials<W>& trials, const LaneArray<Scalar, W>& scratch,
                               const LaneArray<Scalar, W>& values) {
  { trial.template run<W>(trials, scratch, values) } -> std::same_as<void>;
};

}  // namespace detail

/// A simulation's trial: plain data that runs W consecutive trials side by side and writes outputs() >= 1 values each:
/// value k of trial trials.first + i is values[k][i]. A trial is a pure function of its parameters, the seed and the
/// trial's index; W does not change its values. On a CPU W is detail::host_lanes, on a GPU 1. Loops that can take more
/// than a tenth of a second must call stop_requested().
///
/// A trial may define two static constants: `double rounding_in_eps`, a bound on the relative error of a value in eps
/// of its scalar (1024 by default), from which the rounding of estimates follows; and `std::string_view grows_with`,
/// the parameters that determine scratch_rows(), for the message if there is not enough memory.
///
/// Runs on   host and device
template <class T>
concept Trial = DevicePlain<T> && std::copy_constructible<T> && std::floating_point<typename T::Scalar> &&
                requires(const T& trial) {
                  { trial.outputs() } -> std::same_as<int>;
                  { trial.scratch_rows() } -> std::same_as<std::int64_t>;
                } && detail::RunsOnLanes<T, typename T::Scalar, 1> &&
                detail::RunsOnLanes<T, typename T::Scalar, detail::host_lanes>;

namespace detail {

/// Computes the moments of one chunk of one output.
template <class T>
struct SumChunk {
  static constexpr std::string_view task = "summing the values of trials";
  const T* values;
  std::int64_t value_stride;
  std::int64_t trials;
  int outputs;
  statistics::Moments* moments;

  template <class Ways = statistics::SerialWays>
  INCONTEXT_HD void operator()(std::int64_t index, const Ways& ways = {}) const {
    const std::int64_t first = index / outputs * chunk_trials;
    const std::int64_t count = trials - first < chunk_trials ? trials - first : chunk_trials;
    moments[index] = statistics::moments_of(values + index % outputs * value_stride + first, count, ways);
  }
};

/// Refuses a target error below the rounding of a trial's values.
template <class T>
void require_resolvable(double relative_error) {
  constexpr double least = static_cast<double>(std::numeric_limits<T>::epsilon());
  if (relative_error < least) {
    throw_domain_error("simulate::Options", "relative_error is below the rounding of a trial's values", relative_error,
                       "at least " + short_text(least, 3) + ", or a limit on the trials");
  }
}

/// Runs trials wave by wave on one system and merges their chunks in order.
template <class System, Trial TrialType>
class Runner {
  using T = typename TrialType::Scalar;

 public:
  Runner(Device device, const TrialType& trial, const Options& options)
      : trial_(trial),
        options_(options),
        workers_{device, options.threads},
        // the values and scratch of a wave fit into the working memory, unless it has one chunk
        waves_(options_, identity_of<T>(options, trial.outputs()),
               std::clamp<std::int64_t>(
                   System::working_numbers() / (trial.outputs() + trial.scratch_rows()) / chunk_trials, 1, 1024)) {}

  /// As Waves::run_until.
  void run_until(std::int64_t target) {
    waves_.run_until(target, [this](std::int64_t first, std::int64_t trials) { return run_wave(first, trials); });
  }

  /// The number of trials that gives the target relative error at every output, estimated from the trials so far; whole
  /// chunks, at most `most`. Refuses a target that needs more than most_trials.
  [[nodiscard]] std::int64_t needed_trials(std::int64_t most) const {
    double needed = 0;
    for (const statistics::Moments& total : waves_.totals()) {
      const statistics::Estimate pilot(total);
      const double ratio = pilot.relative_error() / options_.relative_error;
      needed = (std::max)(needed, ratio * ratio * static_cast<double>(pilot.count));
    }
    // A pilot of 16 chunks knows the variance of a squared normal to 3%; a twentieth more covers that.
    needed *= 1.05;
    if (needed <= static_cast<double>(most)) {
      return static_cast<std::int64_t>(std::ceil(needed / static_cast<double>(chunk_trials))) * chunk_trials;
    }
    if (most == most_trials) refuse_trials(needed);
    return most;
  }

  [[nodiscard]] Simulation result() const {
    return waves_.template result<T>(rounding_in_eps<TrialType>(), workers_.device);
  }

 private:
  static constexpr int lanes = System::lanes;

  [[noreturn]] void refuse_trials(double needed) const {
    const double reachable = options_.relative_error * std::sqrt(needed / static_cast<double>(most_trials));
    throw_domain_error("simulate::Options",
                       "relative_error needs " + short_text(needed, 3) + " trials by its pilot run, more than 2^50",
                       options_.relative_error, "at least " + short_text(reachable, 3) + ", or a limit on the trials");
  }

  /// The moments of the wave's chunks, one after the other; none if a stop request cut the wave short.
  std::vector<statistics::Moments> run_wave(std::int64_t first, std::int64_t trials) {
    const std::int64_t batches = (trials + lanes - 1) / lanes;
    const std::int64_t chunks = chunks_of(trials);
    const std::int64_t stride = batches * lanes;
    const int outputs = trial_.outputs();
    const std::int64_t slot_count = scratch_slots<System>(trial_, batches, workers_);
    make_room_for_trials<System>("simulate::run_on", trial_, stride, values_, slot_count, scratch_);
    make_room("simulate::run_on", moments_, {chunks, outputs, "chunks of trials", "the number of points"});
    run_trials<System, TrialType>(
        {trial_, options_.seed, first, batches, slot_count, address(values_), stride, address(scratch_)}, workers_);
    if (InterruptGuard::requested()) return {};
    System::for_each_by_ways(chunks * outputs, workers_,
                             SumChunk<T>{address(values_), stride, trials, outputs, address(moments_)});
    return copy_to_host(moments_, 0, chunks * outputs);
  }

  TrialType trial_;
  Options options_;
  Workers workers_;
  Waves<System> waves_;
  typename System::template Memory<T> values_;
  typename System::template Memory<T> scratch_;
  typename System::template Memory<statistics::Moments> moments_;
};

}  // namespace detail

/// Runs a trial on one system by the stopping rule of Options.
///
/// Source    two-stage sampling after Stein 1945: one look at a pilot of 16 chunks, then a fixed number.
/// Shapes    trial.outputs() estimates.
/// Errors    as validate(Options); std::invalid_argument if there are not enough threads or memory, std::domain_error
///           if relative_error needs more than most_trials.
/// Random    bits depend on seed and number of trials alone, and on the chunks that the record knows at the end.
/// Runs on   host (the trials: the system)
template <class System, Trial TrialType>
Simulation run_on(Device device, const TrialType& trial, const Options& options) {
  detail::Runner<System, TrialType> runner(device, trial, options);
  if (options.relative_error > 0) {
    if (options.trials == 0) detail::require_resolvable<typename TrialType::Scalar>(options.relative_error);
    const std::int64_t most = options.trials > 0 ? options.trials : most_trials;
    runner.run_until((std::min)(pilot_chunks * chunk_trials, most));
    runner.run_until((std::min)(runner.needed_trials(most), most));
  } else {
    runner.run_until(options.trials);
  }
  return runner.result();
}

/// Runs a trial on the device that the options name.
///
///     const auto simulation = simulate::run(MyTrial{}, {.seed = 1, .trials = 65536});
///
/// Source    run_on, for a trial that needs no memory of its own on the device.
/// Shapes    trial.outputs() estimates.
/// Errors    as validate(Options), resolve and run_on.
/// Runs on   host (the trials: the device of the options)
template <Trial TrialType>
Simulation run(const TrialType& trial, const Options& options) {
  validate(options);
  const Device device = resolve(options.device, options.gpu);
  return detail::with_system(device, [&](auto system) { return run_on<decltype(system)>(device, trial, options); });
}

}  // namespace incontext::simulate
