#pragma once

#include <incontext/simulate/engine/records/record.hpp>
#include <incontext/simulate/engine/records/simulation_record.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/file_lock.hpp"
#include "examples/support/record_options.hpp"
#include "examples/support/termination.hpp"
#include "examples/support/training_record.hpp"

/// The record of a run in a file, which a later run resumes, or which is one part of a larger run.
namespace incontext::examples {

/// The content of such a file. `settings` are the program and all options that determine its results, as JSON.
struct RecordedRun {
  std::string settings;
  simulate::Part part = {};
  bool complete = false;  ///< whether the run, or this part of it, has ended
  std::vector<simulate::RecordedSimulation> simulations = {};
  std::int64_t contract = simulate::contract_version;
  std::vector<RecordedTraining> trainings = {};
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
/// for at most a twentieth of the time. No other run can use the file meanwhile. While the object exists, SIGTERM stops
/// the simulations as Ctrl-C does.
class RecordFile {
 public:
  /// Reads the file to be resumed, and refuses at once what could not be written later.
  explicit RecordFile(const RecordOptions& options);
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  simulate::SimulationRecord& record() { return record_; }
  TrainingRecord& trainings() { return trainings_; }
  const simulate::Part& part() const { return record_.part(); }
  const std::string& file() const { return file_; }

  /// Whether a later run may have more steps or trials than this one.
  bool may_grow() const { return may_grow_; }

  /// Whether the file is to be written again.
  bool is_due() const { return std::chrono::steady_clock::now() >= next_write_; }

  /// Writes the record in the middle of a run, which goes on if that is impossible: a first failure is told. Only a file
  /// that another run has begun meanwhile ends the run.
  void keep();

  /// Writes the record of a run that has ended, or was stopped.
  void finish(bool complete);

 private:
  RecordFile(const RecordOptions& options, FileLock lock, RecordedRun run);
  void write(bool complete);

  std::string file_, option_, settings_;
  FileLock lock_;
  bool is_new_;  ///< whether the file does not exist yet
  bool may_grow_;
  bool has_failed_ = false;
  simulate::SimulationRecord record_;
  TrainingRecord trainings_;
  std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point next_write_;
  TerminationStops termination_;
};

}  // namespace incontext::examples
