#include "examples/support/unused_options.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "examples/support/command_line.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

void UnusedOptions::add(const std::string& mode, const std::vector<std::string>& names) {
  detail::refuse_unused(app_, mode, names);
  names_.insert(names_.end(), names.begin(), names.end());
}

nlohmann::ordered_json UnusedOptions::arguments() const { return arguments_of(app_, names_); }

void add_run_output_options(CLI::App& app, OutputOptions& output) {
  add_output_options(app, output);
  add_flag(
      app, "--audit", output.audit,
      "Text with what a referee asks for: controls, second opinions, remarks on the draws; JSON always has it, CSV "
      "its tables");
  add_flag(app, "--replace-by-partial", output.replace_by_partial,
           "Let the report of a stopped run replace the file of --output; otherwise it is written to FILE.partial");
  head_options(app, "Output");
}

void add_unused_run_options(UnusedOptions& unused, const SimulationOptions& simulation, const OutputOptions& output,
                            bool theory_has_threads) {
  if (output.format != Format::table) unused.add("--format csv or json", {"--audit"});
  if (simulation.record.part) unused.add("--part", {"--audit"});
  if (simulation.relative_error > 0) unused.add("--relative-error", {"--trials"});
  if (simulation.none) {
    unused.add("--no-simulation", {"--trials", "--relative-error", "--seed", "--device", "--checkpoint", "--resume",
                                   "--part", "--replace-by-partial"});
    if (!theory_has_threads) unused.add("--no-simulation", {"--threads"});
    return;
  }
  using simulate::Device;
  if (!theory_has_threads && (simulation.device == Device::serial || simulation.device == Device::cuda)) {
    unused.add("--device " + name(simulation.device, simulation.gpu), {"--threads"});
  }
  if (output.to_standard_output()) unused.add("no --output", {"--replace-by-partial"});
}

std::string command_of(const CLI::App& app) {
  std::string command = app.get_name();
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    if (!option->get_positional()) command += " " + option->get_name();
    if (option->get_expected_max() == 0) continue;
    const std::string& value = option->results().front();
    const bool plain = !value.empty() && value.find_first_of(" \t'\"\\$") == std::string::npos;
    command += " " + (plain ? value : "'" + value + "'");
  }
  return command;
}

Report report_on(const CLI::App& app, const UnusedOptions& unused) {
  return {.program = app.get_name(), .command = command_of(app), .arguments = unused.arguments()};
}

}  // namespace incontext::examples
