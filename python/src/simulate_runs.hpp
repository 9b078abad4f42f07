#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "device_records.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/simulate/engine/options.hpp"
#include "incontext/simulate/engine/simulation_types.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/comparison.hpp"
#include "incontext/statistics/controls.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/relations.hpp"
#include "interrupts.hpp"
#include "records.hpp"

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

/// The options that keywords name, and the report of progress among them.
class NamedOptions {
 public:
  explicit NamedOptions(const nb::kwargs& keywords) {
    for (const auto& [key, value] : keywords) set(nb::cast<std::string>(key), value);
    if (!report_.is_valid() || report_.is_none()) return;
    options_.progress = [handle = nb::handle(report_)](const simulate::Progress& p) {
      const nb::gil_scoped_acquire lock;
      handle(p.done, p.planned, p.seconds);
    };
  }

  [[nodiscard]] const simulate::Options& options() const { return options_; }

  /// Ends the report, and is KeyboardInterrupt after Ctrl-C.
  void end() const {
    if (report_.is_valid() && nb::hasattr(report_, "close")) report_.attr("close")();
    if (simulate::InterruptGuard::requested()) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw nb::python_error();
    }
  }

 private:
  void set(const std::string& name, nb::handle value) {
    constexpr auto where = "simulate::Options";
    if (name == "seed") {
      options_.seed = whole_number<std::uint64_t>(where, "seed", value);
    } else if (name == "trials") {
      options_.trials = whole_number<std::int64_t>(where, "trials", value);
    } else if (name == "relative_error") {
      options_.relative_error = real_number(where, "relative_error", value);
    } else if (name == "device") {
      options_.device = device_of(value);
    } else if (name == "threads") {
      options_.threads = whole_number<int>(where, "threads", value);
    } else if (name == "gpu") {
      options_.gpu = whole_number<int>(where, "gpu", value);
    } else if (name == "progress") {
      report_ = nb::module_::import_("incontext._progress").attr("reporter")(value);
    } else {
      throw nb::type_error(
          ("no such option: " + name + " (seed, trials, relative_error, device, threads, gpu, progress)").c_str());
    }
  }

  simulate::Options options_;
  nb::object report_;
};

/// Runs `simulation`, which takes simulate::Options, with the options that keywords name.
template <class Function>
auto run_simulation(const nb::kwargs& keywords, const Function& simulation) {
  const NamedOptions named(keywords);
  const SharedInterruptGuard guard;
  auto result = [&] {
    const nb::gil_scoped_release unlocked;
    return simulation(named.options());
  }();
  named.end();
  return result;
}

}  // namespace incontext::python
