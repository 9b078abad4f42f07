#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate::detail {

template <class T>
SimulationIdentity identity_of(const Options& options, std::int64_t outputs) {
  return {std::is_same_v<T, float>    ? "float"
          : std::is_same_v<T, double> ? "double"
                                      : "other",
          outputs, options.seed, options.trials, options.relative_error};
}

/// The waves of a simulation: it takes chunks from the record, has them computed, reports progress, and ends after a
/// stop request.
template <class System>
class Waves {
 public:
  using RunWave = std::function<std::vector<statistics::Moments>(std::int64_t first, std::int64_t trials)>;

  Waves(const Options& options, const SimulationIdentity& identity, std::int64_t most_chunks)
      : options_(options), record_(options.record == nullptr ? &ordered_ : options.record), wave_(most_chunks) {
    record_->begin(identity);
  }
  Waves(const Waves&) = delete;
  Waves& operator=(const Waves&) = delete;

  /// Continues until no chunk of the first `target` trials is left to this process, or a stop is requested. A target
  /// before the last must be a number of whole chunks. run_wave(first, trials) returns the moments of the trials from
  /// `first` on, chunk after chunk, or nothing if a stop request cut the wave short. It is called once per wave, and no
  /// template: the loop is compiled once, not for every trial.
  void run_until(std::int64_t target, const RunWave& run_wave) {
    const std::int64_t end = chunks_of(target);
    if (!has_begun_) show(target);
    has_begun_ = true;
    while (!interrupted_) {
      const Stopwatch clock;
      const ChunkRange range = record_->next(end, wave_.chunks());
      if (range.count <= 0) break;
      const std::int64_t first = range.first * chunk_trials;
      const std::vector<statistics::Moments> moments =
          run_wave(first, (std::min)(range.count * chunk_trials, target - first));
      interrupted_ = moments.empty();
      if (interrupted_) break;
      record_->add(range, moments);
      wave_.grow(clock.seconds());
      show(target);
      interrupted_ = InterruptGuard::requested() && record_->missing(end) > 0;
    }
    totals_ = record_->totals(end);
    interrupted_ = record_->missing(end) > 0;  // here or, if several processes share the run, on any
  }

  /// The moments of every output over the trials known so far.
  [[nodiscard]] const std::vector<statistics::Moments>& totals() const { return totals_; }

  /// The result, with estimates of values in T whose relative errors are at most so many eps of T.
  template <class T>
  [[nodiscard]] Simulation result(double rounding_in_eps, Device device) const {
    Simulation simulation;
    for (const statistics::Moments& total : totals_) {
      simulation.estimates.push_back(estimate_of<T>(total, rounding_in_eps));
    }
    simulation.trials = totals_.empty() ? 0 : totals_.front().count + totals_.front().non_finite;
    simulation.interrupted = interrupted_;
    simulation.device = device;
    simulation.seconds = clock_.seconds();
    return simulation;
  }

 private:
  void show(std::int64_t target) const {
    if (!options_.progress) return;
    const std::int64_t missing = (std::min)(record_->missing(chunks_of(target)) * chunk_trials, target);
    options_.progress({target - missing, target, clock_.seconds()});
  }

  const Options& options_;
  OrderedRecord ordered_;
  Record* record_;
  WaveSize<System> wave_;
  Stopwatch clock_;
  std::vector<statistics::Moments> totals_;
  bool has_begun_ = false;
  bool interrupted_ = false;
};

}  // namespace incontext::simulate::detail
