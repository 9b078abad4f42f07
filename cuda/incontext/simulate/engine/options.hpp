#pragma once

#include <cstdint>
#include <functional>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"

namespace incontext::simulate {

/// How far a run has come, handed to Options::progress before the first wave and after each.
///
/// Units     trials; seconds since the start.
struct Progress {
  std::int64_t done = 0;
  std::int64_t planned = 0;
  double seconds = 0;
};

class Record;  // records/record.hpp

/// The largest number of trials of a run.
inline constexpr std::int64_t most_trials = std::int64_t{1} << 50;

/// The parameters of a run, apart from the model.
///
/// The run stops at `trials`, or, if `relative_error` is given, at the number of trials that reaches this relative
/// standard error at every grid point, as estimated from a pilot (`trials`, if also given, is then an upper bound). The
/// pilot is evaluated once and its trials are kept. Nothing else is evaluated before the end, so z-values keep their
/// law.
///
/// Two runs with the same seed draw the same numbers where their models draw alike, so their estimates are correlated.
/// Use one seed for differences, as in a sweep on common draws, and a different seed for each estimate that must be
/// independent of the others. If all rows of one seed deviate from a theory in the same direction, that is one
/// deviation.
///
/// A `record` (records/record.hpp) knows chunks of trials that were computed earlier or elsewhere, and which ones are
/// to be computed here; records/simulation_record.hpp has one for checkpoints and for runs in parts. Only estimates of
/// means use it: a sample, which keeps every trial, is drawn as a whole. It must outlive the run.
///
/// Units     relative_error: standard error over mean.
/// Domain    0 <= trials <= most_trials, relative_error >= 0, not both zero; 0 <= threads <= most_threads (0: all; CUDA
///           ignores it); gpu: the number of one of the machine's GPUs (devices other than CUDA ignore it).
/// Random    the answer depends on seed and on the number of trials; never on device, threads or waves.
struct Options {
  std::uint64_t seed = 1;
  std::int64_t trials = 0;
  double relative_error = 0;
  Device device = Device::automatic;
  int threads = 0;
  int gpu = 0;
  std::function<void(const Progress&)> progress = {};
  Record* record = nullptr;
};

/// Refuses options that are outside their domain.
///
/// Errors    std::invalid_argument (trials, threads), std::domain_error (relative_error).
inline void validate(const Options& options) {
  constexpr auto where = "simulate::Options";
  require_threads(where, options.threads);
  require_non_negative(where, "relative_error", options.relative_error);
  if (options.relative_error == 0 && options.trials < 1) {
    throw_invalid_argument(where, "trials is too small", options.trials, "at least 1, or a relative_error above 0");
  }
  require_at_least(where, "trials", options.trials, std::int64_t{0});
  if (options.trials > most_trials) {
    throw_invalid_argument(where, "trials is too large", options.trials, "at most 2^50");
  }
}

}  // namespace incontext::simulate
