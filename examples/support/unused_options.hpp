#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/support/output.hpp"
#include "examples/support/simulation_options.hpp"

namespace CLI {
class App;
}  // namespace CLI

/// Options without effect in the mode of a run. They are refused, because a reader would think that they had an effect.
namespace incontext::examples {

struct Report;

/// Refuses options that the user gave and that would be ignored, and makes them null in the report's `arguments`.
class UnusedOptions {
 public:
  explicit UnusedOptions(const CLI::App& app) : app_(app) {}

  /// `mode` names in a message the option that makes these options ineffective.
  void add(const std::string& mode, const std::vector<std::string>& names);

  /// As arguments_of: every option, null if it had no effect.
  nlohmann::ordered_json arguments() const;

 private:
  const CLI::App& app_;
  std::vector<std::string> names_;
};

/// Adds the output options of subcommands that simulate.
void add_run_output_options(CLI::App& app, OutputOptions& output);

/// The options of a simulation that have no effect because of its other options. The number of threads has an effect on
/// every device where the theory is computed by threads, too.
void add_unused_run_options(UnusedOptions& unused, const SimulationOptions& simulation, const OutputOptions& output,
                            bool theory_has_threads = false);

/// The program and its options as given, for the report.
std::string command_of(const CLI::App& app);

/// A report that says which program makes it, and with which arguments.
Report report_on(const CLI::App& app, const UnusedOptions& unused);

}  // namespace incontext::examples
