// incontext-temperature: how the error of in-context regression depends on the attention temperature, theory beside
// simulation, for a figure of arXiv 2511.01292, for laws of one's own choice, or for one's own data.

#include "examples/support/command_line.hpp"
#include "examples/support/controls.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/memory.hpp"
#include "examples/support/report.hpp"
#include "examples/temperature/data.hpp"
#include "examples/temperature/figures.hpp"
#include "examples/temperature/options.hpp"
#include "examples/temperature/scores.hpp"
#include "examples/temperature/sweep.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::temperature;

Report report_of(const CLI::App& app, TemperatureOptions& options) {
  const UnusedOptions unused = check_combination(app, options);
  Report report{.program = "incontext-temperature", .command = command_of(app), .arguments = unused.arguments()};
  if (!options.scores.empty()) {
    report.tables = {scores_table(options)};
    return report;
  }
  constexpr double ridge_matrices = 4 * 64;  // for the 64 trials that a thread computes side by side
  if (options.data.empty()) require_matrices(options.simulation.dimension, ridge_matrices);
  Judgment judgment;
  Controls controls({{"statement"}, {"at"}});
  Simulator simulator(options.simulation, options.output.quiet);
  Run parts{options, simulator, judgment, controls, report.arguments};
  if (!options.data.empty()) {
    report.tables = data_tables(parts);
  } else {
    const LinearTask training = training_task(options.law, options.simulation.dimension, is_given(app, "--dimension"));
    report.arguments["dimension"] = training.dimension();
    state_reading(options, report.arguments);
    report.tables = options.figure.empty() ? sweep_tables(parts, training) : figure_tables(parts, training);
  }
  if (!controls.empty()) report.tables.push_back(controls.table());
  report.run = simulator.summary();
  judge(report, judgment);
  controls.join(*report.verdict);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  TemperatureOptions options;
  return run_program(
      {.name = "incontext-temperature",
       .description =
           "The error of in-context linear regression against the attention temperature, closed form beside\n"
           "simulation. Without --figure, --data or --scores: many temperatures of an attention pretrained on\n"
           "one law and tested on another.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-temperature --input-scale 2 --context-length 40\n"
                 "  incontext-temperature --figure 2a --output figure.json\n"
                 "  incontext-temperature --data patients.csv --labels progression --standardize --drop-missing\n"
                 "  incontext-temperature --scores scores.npy --causal\n"},
      argc, argv, [&](CLI::App& app) { add_temperature_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
