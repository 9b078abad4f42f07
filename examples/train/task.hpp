#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/support/claims.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/judgment.hpp"

/// What the tasks of incontext train have in common.
namespace incontext::examples::train {

/// A count whose default depends on the run, the quick one or --full.
struct EditionCount {
  std::string name;
  std::int64_t* target;
  std::int64_t quick, full;
};

/// The options of every task.
struct TaskOptions {
  bool full = false;
  std::vector<EditionCount> counts = {};
  SimulationOptions simulation = {.trials = 4096};
  OutputOptions output = {};
};

void add_full_flag(CLI::App& app, TaskOptions& o);

/// A count of at least 1; the help text has both defaults.
void add_edition_count(CLI::App& app, TaskOptions& o, const std::string& name, std::int64_t& target,
                       const std::string& description, std::int64_t quick, std::int64_t full, std::int64_t maximum);

/// Words between commas; every word must be in `known`.
void add_words(CLI::App& app, const std::string& name, std::vector<std::string>& target, const std::string& description,
               const std::vector<std::string>& known);

/// What the tables of a task read, and the judgment, controls and claims that they fill in.
template <class Options, class Simulator>
struct TaskParts {
  const Options& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
  Claims& claims;
};

/// Sets the counts that were not given to their values in the run.
void complete_counts(const CLI::App& app, const TaskOptions& o);

/// Writes the counts into the report's arguments.
void state_counts(const TaskOptions& o, nlohmann::ordered_json& arguments);

/// The mean over runs and its standard error.
statistics::Estimate estimate_of_runs(const std::vector<double>& values);

/// A number as a cell of a table; an empty cell for NaN.
Cell finite_cell(double value);

}  // namespace incontext::examples::train
