#pragma once

#include <incontext/simulate/interrupt.hpp>
#include <incontext/simulate/options.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/progress.hpp"
#include "examples/support/simulation_options.hpp"

namespace incontext::examples {

/// The simulations of one run: each on a random stream of its own, one progress line, and Ctrl-C, after which every
/// further one answers at once with estimates of no trials. Before the first trial there is nothing to show: until then
/// Ctrl-C ends the program. For a program's simulator.cpp alone.
class SimulationRuns {
 public:
  SimulationRuns(const SimulationOptions& options, bool quiet) : progress_(quiet) {
    options_.seed = options.seed;
    options_.trials = options.relative_error > 0 ? 0 : options.trials;
    options_.relative_error = options.relative_error;
    options_.device = simulate::device_named(options.device);
    options_.threads = options.threads;
    simulate::resolve(options_.device);
  }

  bool stopped() const { return stopped_ || simulate::InterruptGuard::requested(); }

  /// What the simulations that follow are given, but for the stream.
  simulate::Options& options() { return options_; }

  /// `size` estimates by `simulation`, which takes simulate::Options; `what` is shown meanwhile.
  template <class Simulation>
  std::vector<statistics::Estimate> run(const std::string& what, std::size_t size, const Simulation& simulation) {
    if (stopped()) return std::vector<statistics::Estimate>(size);
    simulate::Options at = options_;
    at.seed = options_.seed + next_stream_++ * 0x9E3779B97F4A7C15ULL;
    at.progress = [&](const simulate::Progress& p) {
      if (!interrupt_) interrupt_.emplace();
      progress_.show(what, p.done, p.planned, p.seconds);
    };
    simulate::Simulation result = simulation(at);
    progress_.clear();
    stopped_ = result.interrupted || stopped();
    return std::move(result.estimates);
  }

 private:
  std::optional<simulate::InterruptGuard> interrupt_ = {};
  ProgressLine progress_;
  simulate::Options options_ = {};
  std::uint64_t next_stream_ = 0;
  bool stopped_ = false;
};

}  // namespace incontext::examples
