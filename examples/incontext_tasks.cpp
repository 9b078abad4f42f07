// incontext-tasks: what can be known about the papers' tasks before anything is trained: exact baselines beside the
// streams they describe, and the errors that a paper prints beside the model of clipped answers.

#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "examples/tasks/figures.hpp"
#include "examples/tasks/options.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::tasks;

Report report_of(const CLI::App& app, TaskOptions& options) {
  const UnusedOptions unused = complete(app, options);
  Report report{.program = "incontext-tasks", .command = command_of(app), .arguments = unused.arguments()};
  if (options.figure == TaskFigure::baselines) report.arguments["lengths"] = options.lengths;
  Judgment judgment;
  Controls controls({{"statement"}, {"at"}});
  Simulator simulator(options.simulation, options.output.quiet);
  TaskRun parts{options, simulator, judgment, controls};
  report.tables = figure_tables(parts);
  if (!controls.empty()) report.tables.push_back(controls.table());
  report.run = simulator.summary();
  judge(report, judgment);
  controls.join(*report.verdict);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  TaskOptions options;
  return run_program(
      {.name = "incontext-tasks",
       .description =
           "The papers' tasks before anything is trained: exact chances and errors of simple answers, beside the\n"
           "streams of incontext/simulate/rows/task_streams.hpp.\n"
           "  --figure baselines  affine functions and quantifiers (2508.14685), reasoning (2310.12956); the default\n"
           "  --figure boundary   Tables 1 and 4 of 2508.14685 beside answers clipped to [-B, B], B fitted per row\n"
           "  --figure deviant    Table 3 of 2508.14685, one deviant first input, beside exact baselines\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-tasks --input-stddev 1 --function-stddev 3\n"
                 "  incontext-tasks --figure boundary --output boundary.csv\n"
                 "  incontext-tasks --figure deviant --seed 2\n"},
      argc, argv, [&](CLI::App& app) { add_task_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
