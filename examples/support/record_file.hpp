#pragma once

#include <incontext/simulate/types/record.hpp>
#include <incontext/simulate/types/simulation_record.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/record_options.hpp"
#include "examples/support/termination.hpp"

/// The record of a run in a file, which a later run resumes, or which is one part of a larger run.
namespace incontext::examples {

/// The content of such a file. `settings` are the program and all options that determine its results, as JSON.
struct RecordedRun {
  std::string settings;
  simulate::Part part = {};
  bool complete = false;  ///< whether the run, or this part of it, has ended
  std::vector<simulate::RecordedSimulation> simulations = {};
  std::int64_t contract = simulate::contract_version;
};

/// The content as text: JSON whose numbers are exact, with a checksum.
std::string record_text(const RecordedRun& run);

/// Reads the file that `option` names. One that is no record, not whole, or altered is refused.
RecordedRun read_record(const std::string& file, const std::string& option);

/// Refuses settings of another run than those of the record; the first option that differs is named.
void require_same_settings(const std::string& settings, const std::string& recorded, const std::string& option,
                           const std::string& file);

/// The first setting that differs, with both values; empty if none does.
std::string difference(const std::string& settings, const std::string& others);

/// The record of a run for its program, with the file that keeps it up to date: not more often than the interval, and
/// for at most a twentieth of the time. While it exists, SIGTERM stops the simulations as Ctrl-C does.
class RecordFile {
 public:
  /// Reads the file to be resumed, and refuses at once what could not be written later.
  explicit RecordFile(const RecordOptions& options);
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  simulate::SimulationRecord& record() { return record_; }
  const simulate::Part& part() const { return record_.part(); }
  const std::string& file() const { return file_; }

  /// Writes the record of a run that has ended, or was stopped.
  void finish(bool complete);

 private:
  RecordFile(const RecordOptions& options, RecordedRun run);
  void write(bool complete);

  std::string file_, option_, settings_;
  simulate::SimulationRecord record_;
  std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point next_write_;
  TerminationStops termination_;
};

}  // namespace incontext::examples
