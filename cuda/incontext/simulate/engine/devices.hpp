#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/records/shared_record.hpp"
#include "incontext/simulate/engine/records/simulation_record.hpp"
#include "incontext/simulate/engine/threads.hpp"

/// One simulation on several devices of this machine, each served by a thread of this process.
namespace incontext::simulate {

/// A device, and of several GPUs which one.
///
/// Domain    as Options.
struct NumberedDevice {
  Device device = Device::automatic;
  int gpu = 0;
  int threads = 0;
};

/// All GPUs of this machine, in the order of their numbers; none in a program without CUDA.
inline std::vector<NumberedDevice> all_gpus() {
  std::vector<NumberedDevice> gpus;
  for (int gpu = 0; is_available(Device::cuda, gpu); ++gpu) gpus.push_back({Device::cuda, gpu});
  return gpus;
}

/// Runs a simulation on several devices at once, which take blocks of chunks as they finish.
///
///     const auto result = simulate::run_on_devices(simulate::all_gpus(), {.trials = 1 << 30}, [&](const auto& own) {
///       return simulate::run(MyTrial{}, own);
///     });
///
/// `simulation` is called once for every device, on a thread of its own, with the options for that device; it may run
/// any simulations that use a record, the same ones on every device. The result is that of the first device. Only that
/// one reports progress, over all devices. A stop request ends all. `record` keeps the chunks, and may be that of a
/// checkpoint.
///
/// Source    SharedRun.
/// Errors    std::invalid_argument if there are no devices, or if options.record is given. Otherwise the
///           exception of the first device that failed.
/// Random    the bits of a run on one device.
/// Runs on   host (the trials: the devices)
template <class Function>
auto run_on_devices(const std::vector<NumberedDevice>& devices, const Options& options, const Function& simulation,
                    SimulationRecord* record = nullptr) {
  constexpr auto where = "simulate::run_on_devices";
  require_at_least(where, "devices.size()", devices.size(), std::size_t{1});
  if (options.record != nullptr) throw_invalid_argument(where, "options.record is not used", 1, "the argument record");
  for (const NumberedDevice& one : devices) resolve(one.device, one.gpu);
  LocalRanks ranks(static_cast<int>(devices.size()));
  if (record != nullptr) ranks.with_run([&](SharedRun& run) { run.keep(*record); });
  std::vector<std::invoke_result_t<const Function&, const Options&>> results(devices.size());
  const auto simulate_on = [&](std::size_t at) {
    SharedRecord own([&](const RunMessage& message) { return ranks.call(static_cast<int>(at), message); });
    Options here = options;
    here.device = devices[at].device;
    here.gpu = devices[at].gpu;
    here.threads = devices[at].threads;
    here.record = &own;
    if (at > 0) here.progress = {};
    results[at] = simulation(std::as_const(here));
  };
  detail::FirstException guarded(simulate_on);
  const auto leave = [&] {
    return RunMessage{.request = RunRequest::leave, .text = guarded.has_caught() ? "its device failed" : ""};
  };
  const auto serve = [&](std::size_t at) {
    guarded(at);
    ranks.call(static_cast<int>(at), leave());
  };
  std::vector<std::thread> others;
  for (std::size_t at = 1; at < devices.size(); ++at) {
    try {
      others.emplace_back(serve, at);
    } catch (const std::system_error& error) {
      ranks.with_run([&](SharedRun& run) {
        run.receive(static_cast<int>(at), {.request = RunRequest::leave, .text = error.what()});
      });
    }
  }
  serve(0);
  for (std::thread& thread : others) thread.join();
  guarded.rethrow();
  return std::move(results.front());
}

}  // namespace incontext::simulate
