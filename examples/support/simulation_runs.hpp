#pragma once

#include <incontext/simulate/engine/device.hpp>
#include <incontext/simulate/engine/devices.hpp>
#include <incontext/simulate/engine/interrupt.hpp>
#include <incontext/simulate/engine/options.hpp>
#include <incontext/simulate/engine/systems.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "examples/support/progress.hpp"
#include "examples/support/record_file.hpp"
#include "examples/support/run_summary.hpp"
#include "examples/support/shared_process.hpp"
#include "examples/support/simulation_options.hpp"
#include "examples/support/text.hpp"
#include "examples/support/version.hpp"

namespace incontext::examples {

/// The simulations of one run. Each has a random stream of its own; they share one progress line and Ctrl-C, after
/// which every further simulation returns at once with estimates of no trials. Before the first trial there is nothing
/// to print, so until then Ctrl-C ends the program. Only a program's simulator.cpp includes this.
class SimulationRuns {
 public:
  SimulationRuns(const SimulationOptions& options, bool quiet) : SimulationRuns(options, completed(options), quiet) {}

  /// Whether the user asked for exact values alone; every simulation returns at once with estimates of no trials.
  bool none() const { return !summary_.simulated; }

  /// Whether no further simulation is to be run because the run was stopped. Who asks has more to run, so that a run
  /// that was stopped is incomplete from then on.
  bool stopped() {
    stopped_ = stopped_ || simulate::InterruptGuard::requested();
    if (stopped_) summary_.complete = false;
    return stopped_;
  }

  /// The summary of all simulations up to now; incomplete once one was cut short or skipped.
  const RunSummary& summary() const { return summary_; }

  /// Adds trials that were drawn in another way to the summary, with the number that was intended.
  void count(std::int64_t trials, std::int64_t planned) {
    *summary_.trials += trials;
    if (trials < planned && !none()) summary_.complete = false;
  }

  /// The options of the simulations that follow, apart from the stream.
  simulate::Options& options() { return options_; }

  /// Whether this run computes one of several parts, whose estimates nobody sees: the record is all that it leaves.
  bool is_part() const { return summary_.file && summary_.file->part().count > 1; }

  /// Runs `simulation`, which takes simulate::Options and returns a simulate::Simulation of `size` estimates, or a pair
  /// of one and anything else; of several GPUs each calls it, on a thread of its own, and the result is that of the
  /// first. The progress line shows `what` meanwhile.
  template <class Function>
  auto run(const std::string& what, std::size_t size, const Function& simulation) {
    std::invoke_result_t<const Function&, const simulate::Options&> result;
    if (none() || stopped()) {
      of(result).estimates.resize(size);
      return result;
    }
    if (summary_.file) summary_.file->record().name_next(what);
    if (process_ != nullptr) process_->record->name_next(what);
    const simulate::Options at = next_options(what, "trials");
    if (gpus_.empty()) {
      result = simulation(at);
    } else {
      result = simulate::run_on_devices(gpus_, at, simulation, summary_.file ? &summary_.file->record() : nullptr);
    }
    finish(of(result).trials, of(result).interrupted);
    return result;
  }

  /// What a training has done: the contexts or sequences that it drew, and whether a stop request cut it short.
  struct Training {
    std::int64_t drawn = 0;
    bool interrupted = false;
  };

  /// Runs `training`, which takes simulate::Options, tells their progress its steps, and returns what it has done;
  /// nothing after a stop request. The progress line shows `what` meanwhile.
  template <class Function>
  void train(const std::string& what, const Function& training) {
    if (none() || stopped()) return;
    const Training done = training(next_options(what, "steps"));
    finish(done.drawn, done.interrupted);
  }

 private:
  /// The options of the next run, with a stream of its own.
  simulate::Options next_options(const std::string& what, const char* unit) {
    simulate::Options at = options_;
    at.seed = options_.seed + next_stream_++ * 0x9E3779B97F4A7C15ULL;
    at.progress = [this, what, unit](const simulate::Progress& p) {
      if (!interrupt_) interrupt_.emplace();
      progress_.show(what, p.done, p.planned, p.seconds, unit);
    };
    return at;
  }

  void finish(std::int64_t trials, bool interrupted) {
    progress_.clear();
    *summary_.trials += trials;
    if (interrupted) summary_.complete = false;
    stopped_ = interrupted || simulate::InterruptGuard::requested();
  }

  static simulate::Simulation& of(simulate::Simulation& result) { return result; }
  template <class Other>
  static simulate::Simulation& of(std::pair<simulate::Simulation, Other>& result) {
    return result.first;
  }

  SimulationRuns(const SimulationOptions& options, const RecordOptions& kept, bool quiet)
      : process_(kept.process), progress_(quiet || (process_ != nullptr && process_->rank > 0)) {
    options_.seed = options.seed;
    options_.trials = options.relative_error > 0 ? 0 : options.trials;
    options_.relative_error = options.relative_error;
    options_.device = options.device;
    options_.gpu = options.gpu;
    options_.threads = options.threads;
    if (process_ != nullptr) take_share(kept.settings);
    if (options_.gpu == simulate::every_gpu) take_all_gpus(kept.divides);
    summary_ = summary_of(options_);
    if (options.none) summary_ = {.simulated = false, .trials = 0};
    if (!gpus_.empty()) summary_.device = simulate::name(simulate::Device::cuda, simulate::every_gpu);
    if (kept.are_given() && (process_ == nullptr || process_->rank == 0)) {
      summary_.file = std::make_shared<RecordFile>(kept);
      if (gpus_.empty()) options_.record = &summary_.file->record();
    }
    if (process_ == nullptr) return;
    if (summary_.file) {
      process_->keep(summary_.file->record(), [file = summary_.file] {
        try {
          file->finish(false);
        } catch (const InputError&) {  // the end of the run tries again, and tells
        }
      });
    }
    options_.record = process_->record;
    summary_.processes = process_->ranks;
  }

  static RecordOptions completed(const SimulationOptions& options) {
    RecordOptions kept = options.record;
    if (options.complete_record) options.complete_record(kept);
    return kept;
  }

  /// The processor cores and the GPU of this one of several processes, which must all have the same options.
  void take_share(const std::string& settings) {
    const std::string build = std::string(version()) + " " + commit();
    const std::string others = process_->record->agreed(build + '\n' + settings);
    const std::size_t end = others.find('\n');
    if (others.substr(0, end) != build)
      throw_input_error("build", "is not that of rank 0", build, others.substr(0, end));
    const std::string problem = difference(settings, others.substr(end + 1));
    if (!problem.empty()) throw InputError("the run is not that of rank 0: " + problem);
    if (options_.threads == 0) options_.threads = process_->threads;
    const int gpus = static_cast<int>(simulate::all_gpus().size());
    if (options_.gpu <= 0 && gpus > 0) options_.gpu = process_->local_rank % gpus;
  }

  /// What is not divided between the GPUs runs on the first.
  void take_all_gpus(bool divides) {
    if (!divides) throw_input_error("--device", "does not divide this program's work", "cuda:all", "cuda or cuda:N");
    gpus_ = simulate::all_gpus();
    options_.gpu = 0;
    for (simulate::NumberedDevice& one : gpus_) one.threads = options_.threads;
  }

  /// The device that `automatic` selects and the number of threads that 0 selects.
  static RunSummary summary_of(const simulate::Options& options) {
    const simulate::Device device = simulate::resolve(options.device, options.gpu);
    RunSummary summary{.trials = 0, .device = simulate::name(device, options.gpu), .seed = options.seed};
    if (device != simulate::Device::cuda) summary.instructions = simulate::instructions();
    if (device == simulate::Device::serial) summary.threads = 1;
    if (device == simulate::Device::openmp || device == simulate::Device::tbb) {
      summary.threads = simulate::detail::HostSystem::workers({device, options.threads});
    }
    return summary;
  }

  const SharedProcess* process_;
  std::optional<simulate::InterruptGuard> interrupt_ = {};
  ProgressLine progress_;
  simulate::Options options_ = {};
  std::vector<simulate::NumberedDevice> gpus_ = {};  ///< that share every simulation
  std::uint64_t next_stream_ = 0;
  bool stopped_ = false;
  RunSummary summary_ = {};
};

}  // namespace incontext::examples
