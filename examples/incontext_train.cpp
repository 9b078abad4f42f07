// incontext-train: trains attention from scratch, and shows what it becomes beside what the theory says it is.

#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "examples/train/classification.hpp"
#include "examples/train/options.hpp"
#include "examples/train/reasoning.hpp"
#include "examples/train/regression.hpp"
#include "examples/train/sequences.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::train;

std::vector<Table> regression_tables(const TrainOptions& o, Simulator& simulator, Judgment& judgment,
                                     Controls& controls) {
  const RegressionTrainer trainer = [&](const std::string& what, const RegressionRun& run,
                                        const std::vector<std::int64_t>& steps) {
    return simulator.train_regression(what, run, steps);
  };
  RegressionFigures parts{trainer, judgment, controls, o.seeds, o.run.batch, o.simulation.seed};
  if (o.figure == TrainFigure::ends) return regression_ends(parts);
  return o.figure == TrainFigure::curves ? regression_curves(parts) : regression_temperatures(parts);
}

bool reads_sequences(TrainTask task) {
  return task == TrainTask::affine || task == TrainTask::quantifier || task == TrainTask::needle;
}

std::vector<Table> sequence_tables(TrainTask task, SequenceParts& parts) {
  if (task == TrainTask::needle) return needle_tables(parts);
  return task == TrainTask::affine ? affine_tables(parts) : quantifier_tables(parts);
}

Report report_of(const CLI::App& app, TrainOptions& options) {
  const UnusedOptions unused = complete(app, options);
  require_outputs(options.output);
  Report report{.program = "incontext-train", .command = command_of(app), .arguments = unused.arguments()};
  Judgment judgment;
  const bool is_regression = options.task == TrainTask::regression, reasons = options.task == TrainTask::reasoning;
  const bool is_sequence = reads_sequences(options.task), has_place = reasons || is_sequence;
  Controls controls(is_regression || has_place ? std::vector<Column>{{"statement"}, {has_place ? "at" : "layer"}}
                                               : std::vector<Column>{{"rule"}, {"layer"}});
  if (is_sequence) {
    state_used(options.sequences, report.arguments);
    SequenceSimulator simulator(options.simulation, options.output.quiet);
    SequenceParts parts{options.sequences, simulator, judgment, controls};
    report.tables = sequence_tables(options.task, parts);
    report.run = simulator.record();
  } else if (reasons) {
    state_used(options.reasoning, report.arguments);
    ReasoningSimulator simulator(options.simulation, options.output.quiet);
    ReasoningParts parts{options.reasoning, simulator, judgment, controls};
    report.tables = options.figure == TrainFigure::ends ? eureka_tables(parts) : reasoning_course_tables(parts);
    report.run = simulator.record();
  } else {
    state_used(options, report.arguments);
    Simulator simulator(options.simulation, options.output.quiet);
    TrainRun parts{options, simulator, judgment, controls};
    report.tables =
        is_regression ? regression_tables(options, simulator, judgment, controls) : classification_tables(parts);
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
           "Trains attention from scratch, with exact gradients. --task classification compares one layer with the\n"
           "best step of (kernel) gradient descent (2510.10425), --task regression with the optimum of its exact "
           "error\n"
           "(2511.01292); --task reasoning trains a transformer of one block that must read parities (2310.12956).\n"
           "--task affine and --task quantifier train transformers with several attention maps and test them under\n"
           "shifts (2508.14685), and --task needle an inverse temperature at every row length (2501.19399).\n"
           "  --figure ends        where training ends, over several seeds; reasoning: the step of the Eureka moment\n"
           "  --figure curves      the way there: Figures 4 and 5, one run; regression: beside gradient flow;\n"
           "                       reasoning: losses, entropies and gradients, Figures 5, 7 and 8\n"
           "  --figure 7, 16       four models over context lengths (7) or dimensions (16), beside their rules\n"
           "  --figure 17          selection and elimination over seeds, by initial scale and learning rate\n"
           "  --figure 18          the learning rate: where training ends, and when it arrives\n"
           "  --figure valley      the valley of kappa and gain, and the trained layers in it\n"
           "  --figure temperature regression: a pretrained layer's temperature, trained on shifted laws\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-train\n"
                 "  incontext-train --map softmax --dimension 5 --steps 8000 --seeds 3\n"
                 "  incontext-train --figure 7 --dimensions 3 --context-lengths 25,100 --seeds 5\n"
                 "  incontext-train --figure 17 --class-counts 2 --context-lengths 20\n"
                 "  incontext-train --task regression --figure temperature\n"
                 "  incontext-train --figure curves --map linear --checkpoint state --weights layer\n"
                 "  incontext-train --task affine --maps softmax,ssa,ssmax --seeds 5\n"
                 "  incontext-train --task reasoning --methods softmax,normsoftmax --rates 1e-3,3e-3 --seeds 5\n"},
      argc, argv, [&](CLI::App& app) { add_train_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
