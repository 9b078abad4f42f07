// incontext-temperature: the error of in-context regression against the attention temperature, theory beside
// simulation: a figure of arXiv 2511.01292, a free sweep, or a user's own data.

#include "examples/support/command_line.hpp"
#include "examples/support/memory.hpp"
#include "examples/support/report.hpp"
#include "examples/temperature/data.hpp"
#include "examples/temperature/figures.hpp"
#include "examples/temperature/options.hpp"
#include "examples/temperature/scores.hpp"
#include "examples/temperature/sweep.hpp"

namespace {

using namespace incontext::examples;

int run(const CLI::App& app, TemperatureOptions& options) {
  check_combination(app, options);
  if (!options.output.to_standard_output()) require_writable(options.output.file);
  Report report{.program = "incontext-temperature", .arguments = arguments_of(app)};
  if (!options.scores.empty()) {
    report.tables = {scores_table(options)};
    deliver(report, options.output);
    return exit_agreement;
  }
  constexpr double ridge_matrices = 4 * 64;  // of one thread's 64 trials side by side
  if (options.data.empty()) require_matrices(options.simulation.dimension, ridge_matrices);
  Judgement judgement;
  Simulator simulator(options.simulation, options.output.quiet);
  Run parts{options, simulator, judgement};
  if (!options.data.empty()) {
    report.tables = data_tables(parts);
  } else {
    const LinearTask training = training_task(options, is_given(app, "--dimension"));
    report.tables = options.figure.empty() ? sweep_tables(parts, training) : figure_tables(parts, training);
  }
  for (Table& table : report.tables) {
    if (simulator.stopped()) table.notes.push_back("Stopped by Ctrl-C: rows that were not reached are missing.");
    if (judgement.size() > 0) table.notes.push_back(judgement.note());
  }
  report.verdict = judgement.verdict();
  deliver(report, options.output);
  return report.verdict.agrees ? exit_agreement : exit_disagreement;
}

}  // namespace

int main(int argc, char** argv) {
  TemperatureOptions options;
  return run_program(
      {.name = "incontext-temperature",
       .description =
           "The error of in-context linear regression against the attention temperature, closed form beside\n"
           "simulation. Without --figure, --data or --scores: many temperatures of an attention pretrained on\n"
           "one law and tested on another.\n"
           "Exit code: 0 agreement, 1 a disagreement beyond the family-wise bound, 2 bad input."},
      argc, argv, [&](CLI::App& app) { add_temperature_options(app, options); },
      [&](const CLI::App& app) { return run(app, options); });
}
