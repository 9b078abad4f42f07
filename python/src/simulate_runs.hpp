#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "device_records.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "interrupts.hpp"
#include "records.hpp"
#include "statistics_records.hpp"

INCONTEXT_RECORD(incontext::simulate::Simulation, "simulate", "Simulation", estimates, trials, interrupted, device,
                 seconds)

/// How every simulation is run from Python: options as keywords, without the interpreter's lock, ended by Ctrl-C.
namespace incontext::python {

/// The documentation of a simulation, and below it the keywords that it takes.
inline const char* with_options(const char* documentation) {
  static std::deque<std::string> texts;  // nanobind keeps the pointers
  const simulate::Options defaults;
  texts.push_back(std::string(documentation) + "\n\nOptions (keywords, with their defaults)\n  seed = " +
                  std::to_string(defaults.seed) + "\n  trials = " + std::to_string(defaults.trials) +
                  ": the number of trials; give this, or relative_error\n  relative_error = " +
                  short_text(defaults.relative_error, 3) +
                  ": the standard error over the mean at which to stop; trials, if also given, is then an upper bound\n"
                  "  device = \"automatic\": or \"serial\", \"openmp\"\n  threads = " +
                  std::to_string(defaults.threads) +
                  ": as many as the machine has\n  gpu = " + std::to_string(defaults.gpu) +
                  ": the number of the GPU, where the device is one\n"
                  "  progress = None: True for a bar of tqdm, or a function of (done, planned, seconds)");
  return texts.back().c_str();
}

/// Runs `simulation`, which takes simulate::Options, with the options that keywords name.
template <class Function>
auto run_simulation(const nb::kwargs& keywords, const Function& simulation) {
  constexpr auto where = "simulate::Options";
  simulate::Options options;
  nb::object report;
  for (const auto& [key, value] : keywords) {
    const auto name = nb::cast<std::string>(key);
    if (name == "seed") {
      options.seed = whole_number<std::uint64_t>(where, "seed", value);
    } else if (name == "trials") {
      options.trials = whole_number<std::int64_t>(where, "trials", value);
    } else if (name == "relative_error") {
      options.relative_error = real_number(where, "relative_error", value);
    } else if (name == "device") {
      options.device = device_of(value);
    } else if (name == "threads") {
      options.threads = whole_number<int>(where, "threads", value);
    } else if (name == "gpu") {
      options.gpu = whole_number<int>(where, "gpu", value);
    } else if (name == "progress") {
      report = nb::module_::import_("incontext._progress").attr("reporter")(value);
    } else {
      throw nb::type_error(
          ("no such option: " + name + " (seed, trials, relative_error, device, threads, gpu, progress)").c_str());
    }
  }
  if (report.is_valid() && !report.is_none()) {
    options.progress = [handle = nb::handle(report)](const simulate::Progress& p) {
      const nb::gil_scoped_acquire lock;
      handle(p.done, p.planned, p.seconds);
    };
  }
  const SharedInterruptGuard guard;
  auto result = [&] {
    const nb::gil_scoped_release unlocked;
    return simulation(std::as_const(options));
  }();
  if (report.is_valid() && nb::hasattr(report, "close")) report.attr("close")();
  if (simulate::InterruptGuard::requested()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return result;
}

}  // namespace incontext::python
