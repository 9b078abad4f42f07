#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/simulate/engine/systems.hpp"

/// Few trials that are long: a GPU runs the segments of one trial side by side.
namespace incontext::simulate::detail {

/// A trial that consists of segments() segments, which can be run independently: run_segments(trials, scratch, first,
/// count) leaves their state at the start of the scratch memory, merge(state, next) adds the state of the segments that
/// follow, and finish(state, values) writes the values. Segments merge in a binary tree: 2^k segments that begin at a
/// multiple of 2^k merge before they merge with others, so that a division into such parts does not change a bit.
template <class T>
concept SegmentedTrial =
    requires(const T& trial, const random::Trials<1>& trials, const LaneArray<typename T::Scalar, 1>& state) {
      { trial.segments() } -> std::same_as<std::int64_t>;
      trial.template run_segments<1>(trials, state, std::int64_t{}, std::int64_t{});
      trial.template merge<1>(state, state);
      trial.template finish<1>(state, state);
    };

/// The segments of a wave, cut into `parts` of 2^k per trial. The state of part p of trial i is number p x trials + i.
template <class TrialType>
struct Parts {
  using T = typename TrialType::Scalar;
  TrialType trial;
  std::int64_t trials, parts, segments_per_part;
  T* scratch;

  INCONTEXT_HD LaneArray<T, 1> state(std::int64_t part, std::int64_t i) const {
    return {scratch + part * trials + i, trials * parts};
  }
};

template <class TrialType>
struct RunParts {
  static constexpr std::string_view task = "running segments of trials";
  Parts<TrialType> parts;
  std::uint64_t seed;
  std::int64_t first_trial;

  INCONTEXT_HD void operator()(std::int64_t index) const {
    const std::int64_t i = index % parts.trials, part = index / parts.trials;
    const std::int64_t first = part * parts.segments_per_part, left = parts.trial.segments() - first;
    parts.trial.template run_segments<1>(random::Trials<1>{seed, static_cast<std::uint64_t>(first_trial + i)},
                                         parts.state(part, i), first,
                                         left < parts.segments_per_part ? left : parts.segments_per_part);
  }
};

/// Merges parts p and p + step for every multiple p of 2 step.
template <class TrialType>
struct MergeParts {
  static constexpr std::string_view task = "merging segments of trials";
  Parts<TrialType> parts;
  std::int64_t step;

  INCONTEXT_HD void operator()(std::int64_t index) const {
    const std::int64_t i = index % parts.trials, part = index / parts.trials * 2 * step;
    parts.trial.template merge<1>(parts.state(part, i), parts.state(part + step, i));
  }
};

template <class TrialType>
struct FinishTrials {
  using T = typename TrialType::Scalar;
  static constexpr std::string_view task = "finishing trials";
  Parts<TrialType> parts;
  T* values;
  std::int64_t value_stride;

  INCONTEXT_HD void operator()(std::int64_t i) const {
    parts.trial.template finish<1>(parts.state(0, i), LaneArray<T, 1>{values + i, value_stride});
  }
};

/// Segments per part: the smallest power of two with which the parts of all trials are no more than the threads that
/// fill a GPU, and than the scratch memory that there is.
template <class System, class TrialType>
std::int64_t segments_per_part(const TrialType& trial, std::int64_t trials, const Workers& workers) {
  const std::int64_t most =
      (std::min<std::int64_t>)(System::workers(workers),
                               System::working_numbers() / (std::max<std::int64_t>)(trial.scratch_rows(), 1));
  std::int64_t segments = 1;
  while (segments < trial.segments() && (trial.segments() + segments - 1) / segments * trials > most) segments *= 2;
  return segments;
}

/// The scratch memories for a number of batches: one per part of a trial, or slots_of them.
template <class System, class TrialType>
std::int64_t scratch_slots(const TrialType& trial, std::int64_t batches, const Workers& workers) {
  if constexpr (System::lanes == 1 && SegmentedTrial<TrialType>) {
    const std::int64_t per_part = segments_per_part<System>(trial, batches, workers);
    if (per_part < trial.segments()) return (trial.segments() + per_part - 1) / per_part * batches;
  }
  return slots_of<System>(trial, batches, workers);
}

/// Runs batches of trials in the scratch memories of scratch_slots.
template <class System, class TrialType>
void run_trials(const RunSlot<TrialType, System::lanes>& run, const Workers& workers) {
  if constexpr (System::lanes == 1 && SegmentedTrial<TrialType>) {
    if (run.slot_count > run.batches) {
      const Parts<TrialType> parts{run.trial, run.batches, run.slot_count / run.batches,
                                   segments_per_part<System>(run.trial, run.batches, workers), run.scratch};
      System::for_each_index(run.slot_count, workers, RunParts<TrialType>{parts, run.seed, run.first_trial});
      for (std::int64_t step = 1; step < parts.parts; step *= 2) {
        const std::int64_t pairs = (parts.parts + step - 1) / (2 * step);
        System::for_each_index(pairs * run.batches, workers, MergeParts<TrialType>{parts, step});
      }
      return System::for_each_index(run.batches, workers, FinishTrials<TrialType>{parts, run.values, run.value_stride});
    }
  }
  System::for_each_index(run.slot_count, workers, run);
}

}  // namespace incontext::simulate::detail
