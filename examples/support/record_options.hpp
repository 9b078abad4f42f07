#pragma once

#include <incontext/simulate/engine/records/simulation_record.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/output.hpp"
#include "examples/support/shared_process.hpp"

namespace incontext::examples {

/// Which files a run reads and writes, and what part of it is to be computed. `settings` are
/// the program and all options that determine its results, as JSON.
struct RecordOptions {
  std::string settings;
  std::string checkpoint = {};  ///< where to write; empty: to the file that is resumed
  std::string resume = {};      ///< what to resume; empty: nothing
  std::optional<simulate::Part> part = {};
  bool has_report = false;                   ///< whether the run writes its report to a file
  bool divides = false;                      ///< whether parts, processes and several GPUs can share the run
  std::string may_grow = {};                 ///< the setting that a resumed run may have larger; empty: none
  const SharedProcess* process = nullptr;    ///< this process, if several share the run
  std::chrono::milliseconds interval{2000};  ///< the shortest time between two writes

  bool are_given() const { return !checkpoint.empty() || !resume.empty() || part; }
};

}  // namespace incontext::examples
