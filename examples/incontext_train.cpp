// incontext-train: trains attention from scratch, and shows what it becomes beside what the theory says it is.

#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "examples/train/classification.hpp"
#include "examples/train/options.hpp"
#include "examples/train/reasoning.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::train;

Report report_of(const CLI::App& app, TrainOptions& options) {
  const UnusedOptions unused = complete(app, options);
  require_outputs(options.output);
  Report report{.program = "incontext-train", .command = command_of(app), .arguments = unused.arguments()};
  Judgment judgment;
  const bool reasons = is_reasoning(options.figure);
  Controls controls(reasons ? std::vector<Column>{{"statement"}, {"at"}} : std::vector<Column>{{"rule"}, {"layer"}});
  if (reasons) {
    state_used(options.reasoning, report.arguments);
    ReasoningSimulator simulator(options.simulation, options.output.quiet);
    ReasoningParts parts{options.reasoning, simulator, judgment, controls};
    report.tables = options.figure == TrainFigure::reasoning ? eureka_tables(parts) : reasoning_course_tables(parts);
    report.run = simulator.record();
  } else {
    Simulator simulator(options.simulation, options.output.quiet);
    TrainRun parts{options, simulator, judgment, controls};
    report.tables = classification_tables(parts);
    report.run = simulator.record();
  }
  if (!controls.empty()) report.tables.push_back(controls.table());
  judge(report, judgment);
  if (report.verdict) controls.join(*report.verdict);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  TrainOptions options;
  return run_program(
      {.name = "incontext-train",
       .description =
           "Trains attention from scratch, with exact gradients: one layer that classifies in context, beside the "
           "best\n"
           "step of (kernel) gradient descent (2510.10425), and a transformer of one block that must read parities\n"
           "(2310.12956).\n"
           "  --figure ends        where training ends, over several seeds; the default\n"
           "  --figure curves      the way there: Figures 4 and 5, one run\n"
           "  --figure reasoning   the step of the Eureka moment over methods and seeds; [--full]\n"
           "  --figure reasoning-course   losses, entropies and gradients of one run per method: Figures 5, 7 and 8\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-train\n"
                 "  incontext-train --map softmax --dimension 5 --steps 8000 --seeds 3\n"
                 "  incontext-train --figure curves --map linear --checkpoint state --weights layer\n"
                 "  incontext-train --figure reasoning --methods softmax,normsoftmax --rates 1e-3,3e-3 --seeds 5\n"},
      argc, argv, [&](CLI::App& app) { add_train_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
