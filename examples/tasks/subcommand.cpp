// incontext tasks: what can be known about the papers' tasks before anything is trained: exact baselines beside the
// streams they describe, and the errors that a paper prints beside the model of clipped answers.

#include "examples/incontext/subcommand.hpp"
#include "examples/tasks/figures.hpp"
#include "examples/tasks/options.hpp"
#include "examples/tasks/printed_numbers.hpp"

namespace incontext::examples::tasks {

namespace {

Report report_of(const CLI::App& app, TaskOptions& options) {
  Report report = report_on(app, complete(app, options));
  if (options.figure == TaskFigure::printed) {
    Claims claims;
    report.tables = printed_numbers(claims);
    report.tables.push_back(claims.table());
    report.verdict = claims.verdict();
    return report;
  }
  Controls controls({{"statement"}, {"at"}});
  Simulator simulator(options.simulation, options.output.quiet);
  return judged(std::move(report), simulator, controls, [&](Report&, Judgment& judgment) {
    TaskRun parts{options, simulator, judgment, controls};
    return figure_tables(parts);
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<TaskOptions>(
      {.name = "tasks",
       .question = "What is known of the papers' tasks before anything is trained?",
       .description =
           "The papers' tasks before anything is trained: exact chances and errors of simple answers, beside the\n"
           "streams of incontext/simulate/rows/task_streams.hpp.\n"
           "  --figure baselines  affine functions and quantifiers (2508.14685), reasoning (2310.12956); the default\n"
           "  --figure boundary   Tables 1 and 4 of 2508.14685 beside answers clipped to [-B, B], B fitted per row\n"
           "  --figure deviant    Table 3 of 2508.14685, one deviant first input, beside exact baselines\n"
           "  --figure printed    what printed counts, scores and losses say by themselves (2310.12956, 2508.14685)\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext tasks --input-stddev 1 --function-stddev 3\n"
                 "  incontext tasks --figure boundary --output boundary.csv\n"
                 "  incontext tasks --figure deviant --seed 2\n"},
      add_task_options, report_of);
}

}  // namespace incontext::examples::tasks
