#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/support/output.hpp"
#include "examples/support/simulation_options.hpp"

namespace CLI {
class App;
}  // namespace CLI

/// Options without effect in the mode a program runs in: silence would let a reader think they counted.
namespace incontext::examples {

/// Refuses what the user gave and would be ignored, and keeps the report's `arguments` from stating its default.
class UnusedOptions {
 public:
  explicit UnusedOptions(const CLI::App& app) : app_(app) {}

  /// `mode` says in a message what these options do not go with.
  void add(const std::string& mode, const std::vector<std::string>& names);

  /// As arguments_of: every option, null where it had no effect.
  nlohmann::ordered_json arguments() const;

 private:
  const CLI::App& app_;
  std::vector<std::string> names_;
};

/// For programs whose runs can be stopped.
void add_partial_option(CLI::App& app, OutputOptions& output);

/// The options of a run that its other options leave without effect.
void add_unused_run_options(UnusedOptions& unused, const SimulationOptions& simulation, const OutputOptions& output);

/// The program and the options it was given, for a report that says how it came about.
std::string command_of(const CLI::App& app);

}  // namespace incontext::examples
