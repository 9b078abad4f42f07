#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "device_records.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/types/simulation.hpp"
#include "interrupts.hpp"
#include "records.hpp"
#include "statistics_records.hpp"

INCONTEXT_RECORD(incontext::simulate::Simulation, "simulate", "Simulation", estimates, trials, interrupted, device,
                 seconds)

/// How every simulation is run from Python: options as keywords, without the interpreter's lock, ended by Ctrl-C.
namespace incontext::python {

/// Runs `simulation`, which takes simulate::Options, with the options that keywords name.
template <class Function>
auto run_simulation(const nb::kwargs& keywords, const Function& simulation) {
  simulate::Options options;
  nb::object report;
  for (const auto& [key, value] : keywords) {
    const auto name = nb::cast<std::string>(key);
    if (name == "seed") {
      options.seed = nb::cast<std::uint64_t>(value);
    } else if (name == "trials") {
      options.trials = nb::cast<std::int64_t>(value);
    } else if (name == "relative_error") {
      options.relative_error = nb::cast<double>(value);
    } else if (name == "device") {
      options.device = device_of(value);
    } else if (name == "threads") {
      options.threads = nb::cast<int>(value);
    } else if (name == "gpu") {
      options.gpu = nb::cast<int>(value);
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
