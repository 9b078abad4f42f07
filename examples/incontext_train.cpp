// incontext-train: trains attention from scratch, and shows what it becomes beside what the theory says it is.

#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "examples/train/classification.hpp"
#include "examples/train/options.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::train;

Report report_of(const CLI::App& app, TrainOptions& options) {
  const UnusedOptions unused = complete(app, options);
  require_outputs(options.output);
  Report report{.program = "incontext-train", .command = command_of(app), .arguments = unused.arguments()};
  Judgment judgment;
  Controls controls({{"rule"}, {"layer"}});
  Simulator simulator(options.simulation, options.output.quiet);
  TrainRun parts{options, simulator, judgment, controls};
  report.tables = classification_tables(parts);
  if (!controls.empty()) report.tables.push_back(controls.table());
  report.run = simulator.record();
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
           "Trains one layer of attention to classify in context, from scratch and with exact gradients, and compares\n"
           "it with the best step of (kernel) gradient descent (2510.10425).\n"
           "  --figure ends        where training ends, over several seeds; the default\n"
           "  --figure curves      the way there: Figures 4 and 5, one run\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-train\n"
                 "  incontext-train --map softmax --dimension 5 --steps 8000 --seeds 3\n"
                 "  incontext-train --figure curves --map linear --checkpoint state --weights layer\n"},
      argc, argv, [&](CLI::App& app) { add_train_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
