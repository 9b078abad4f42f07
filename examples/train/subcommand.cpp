// incontext train: trains attention from scratch, and shows what it becomes beside what the theory says it is.

#include <cstdio>
#include <memory>

#include "examples/incontext/subcommand.hpp"
#include "examples/train/classification.hpp"
#include "examples/train/reasoning.hpp"
#include "examples/train/regression.hpp"
#include "examples/train/sequences.hpp"

namespace incontext::examples::train {

namespace {

// Tasks whose options need no completion but that of their counts.
void complete(const CLI::App&, TaskOptions&, UnusedOptions&) {}
void state_used(const TaskOptions&, nlohmann::ordered_json&) {}

// Most tasks write nothing but their report.
template <class Parts>
void write_more(const Parts&) {}

/// A task: its options, the simulator that trains it, the columns that name its controls, its tables, and how long its
/// default takes, if that is half a minute or more on two cores.
template <class Options, class Simulator, class Parts = TaskParts<Options, Simulator>>
Subcommand task(Subcommand text, void (*add)(CLI::App&, Options&), std::vector<Column> keys,
                std::vector<Table> (*tables)(Parts&), const std::string& takes = {}) {
  const auto options = std::make_shared<Options>();
  if (!takes.empty()) text.description += "\nWithout options it takes about " + takes + " on two cores.";
  text.description += "\nA negative control that the run could have rejected and did not is a disagreement.\n" +
                      std::string(exit_codes_help);
  text.add_options = [=](CLI::App& app) { add(app, *options); };
  text.body = [=](const CLI::App& app) {
    Options& o = *options;
    UnusedOptions unused(app);
    add_unused_run_options(unused, o.simulation, o.output);
    complete_counts(app, o);
    complete(app, o, unused);
    Report report = report_on(app, unused);
    if (!takes.empty() && report.command == report.program) {
      std::fprintf(stderr, "%s: about %s on two cores\n", report.program.c_str(), takes.c_str());
    }
    state_counts(o, report.arguments);
    state_used(o, report.arguments);
    Judgment judgment;
    Controls controls(keys);
    Claims claims;
    Simulator simulator(o.simulation, o.output.quiet);
    const TaskParts<Options, Simulator> common{o, simulator, judgment, controls, claims};
    Parts parts{common};
    report.tables = tables(parts);
    report.run = simulator.summary();
    if (!claims.empty()) {
      report.tables.push_back(claims.table());
      report.tables.back().audit = true;
    }
    if (!controls.empty()) report.tables.push_back(controls.table());
    judge(report, judgment);
    if (report.verdict) controls.join(*report.verdict);
    if (report.verdict) claims.join(*report.verdict);
    if (report.verdict && report.verdict->agrees == false && is_given(app, "--steps")) {
      report.verdict->text += " The theory is about where training ends, and the number of --steps was given.";
    }
    const int exit_code = deliver(std::move(report), o.output);
    write_more(parts);  // a file that cannot be written must not cost the report
    return exit_code;
  };
  return text;
}

const std::vector<Column> at_place{{"statement"}, {"at"}};

Subcommand classification() {
  return task<ClassificationOptions, Simulator>(
      {.name = "classification",
       .question = "One layer of attention beside the best step of (kernel) gradient descent (2510.10425)",
       .description =
           "Trains one layer of attention on classification in context, and compares it with the best step of\n"
           "(kernel) gradient descent (2510.10425).\n"
           "  --figure ends    where training ends, over several seeds\n"
           "  --figure curves  the way there: Figures 4 and 5, one run\n"
           "  --figure 7, 16   four models over context lengths (7) or dimensions (16), beside their rules\n"
           "  --figure 10      transience: learning in context that is lost while prototypes are learned by heart\n"
           "  --figure 17      selection and elimination over seeds, by initial scale and learning rate\n"
           "  --figure 18      the learning rate: where training ends, and when it arrives\n"
           "  --figure valley  the valley of kappa and gain, and the trained layers in it",
       .footer = "\nExamples:\n"
                 "  incontext train classification\n"
                 "  incontext train classification --map softmax --dimension 5 --steps 8000 --seeds 3\n"
                 "  incontext train classification --figure 7 --dimensions 3 --context-lengths 25,100 --seeds 5\n"
                 "  incontext train classification --figure 17 --class-counts 2 --context-lengths 20\n"
                 "  incontext train classification --figure curves --map linear --checkpoint state --weights layer\n"},
      add_options, {{"rule"}, {"layer"}}, classification_tables, "40 s");
}

Subcommand regression() {
  return task<RegressionOptions, Simulator>(
      {.name = "regression",
       .question = "One layer of attention beside the optimum of its exact error (2511.01292)",
       .description =
           "Trains one layer of attention on linear regression in context, and compares it with the optimum of its\n"
           "exact error (2511.01292): linear attention, approximate softmax and softmax.\n"
           "  --figure ends         where training ends, over several seeds\n"
           "  --figure curves       stochastic gradient descent beside gradient flow on the exact error\n"
           "  --figure temperature  a pretrained layer's temperature, trained on shifted laws\n"
           "  --figure heads        one softmax head, and two or more, beside the best one and the best two",
       .footer = "\nExamples:\n"
                 "  incontext train regression\n"
                 "  incontext train regression --dimension 5 --context-length 20 --steps 3000\n"
                 "  incontext train regression --figure temperature\n"
                 "  incontext train regression --figure heads --dimension 8 --context-length 64 --steps 6000\n"},
      add_options, {{"statement"}, {"layer"}}, regression_tables);
}

Subcommand reasoning() {
  return task<ReasoningOptions, ReasoningSimulator>(
      {.name = "reasoning",
       .question = "A transformer of one block that must read parities: when it learns to (2310.12956)",
       .description =
           "Trains a transformer of one block on inputs whose parities it must read (2310.12956), with softmax,\n"
           "NormSoftmax and other help for queries and keys.\n"
           "  --figure ends    the step of the Eureka moment, by method, rate and seed; and the plateau before it,\n"
           "                   for which a block of width 64 is trained in any case, for about ten seconds\n"
           "  --figure curves  losses, entropies and gradients through training, Figures 5, 7 and 8",
       .footer = "\nExamples:\n"
                 "  incontext train reasoning\n"
                 "  incontext train reasoning --methods softmax,normsoftmax --rates 1e-3,3e-3 --seeds 5\n"},
      add_options, at_place, reasoning_tables, "30 s");
}

Subcommand affine() {
  return task<SequenceOptions, SequenceSimulator>(
      {.name = "affine",
       .question = "Transformers with several maps on affine functions, tested under shifts (2508.14685)",
       .description =
           "Trains transformers with several attention maps on affine functions, and tests them on shifted functions\n"
           "and inputs: errors, the bound of the weights, and the boundary value of the clip model (2508.14685).",
       .footer = "\nExamples:\n"
                 "  incontext train affine\n"
                 "  incontext train affine --maps softmax,ssa,ssmax --seeds 5\n"
                 "  incontext train affine --maps softmax,ssa --models full,wide\n"},
      add_affine_options, at_place, affine_tables);
}

Subcommand quantifier() {
  return task<SequenceOptions, SequenceSimulator>(
      {.name = "quantifier",
       .question = "The same transformers on \"every\" and \"some\", in longer rows and with a map replaced late",
       .description =
           "Trains transformers with several attention maps to answer whether every number of a row, or some, is\n"
           "positive, and tests them on longer rows and larger numbers (2508.14685). The full run also replaces\n"
           "softmax by SSMax after training or late in it (2501.19399).",
       .footer = "\nExamples:\n"
                 "  incontext train quantifier\n"
                 "  incontext train quantifier --maps softmax,ssa --layers 2 --seeds 5\n"},
      add_quantifier_options, at_place, quantifier_tables);
}

Subcommand recall() {
  return task<SequenceOptions, SequenceSimulator>(
      {.name = "recall",
       .question = "The same transformers recall a value by its key, in ten times longer sequences (2501.19399)",
       .description =
           "Trains transformers with several attention maps on 64 pairs of a key and a value, of which every token\n"
           "shows one and asks for one, and tests them in longer sequences (2501.19399, Figures 6 to 8, whose models\n"
           "are language models).",
       .footer = "\nExamples:\n"
                 "  incontext train recall\n"
                 "  incontext train recall --maps softmax,ssmax,ssa --lengths 64,1280 --seeds 5 --steps 600\n"},
      add_recall_options, at_place, recall_tables);
}

Subcommand needle() {
  return task<NeedleOptions, SequenceSimulator>(
      {.name = "needle",
       .question = "An inverse temperature at every row length, beside the exact optimum (2501.19399)",
       .description =
           "Trains the inverse temperature of softmax on rows with a needle, one number at every length and SSMax's s\n"
           "over all lengths (2501.19399), and compares them with the optima of the exact cross entropy.",
       .footer = "\nExamples:\n"
                 "  incontext train needle\n"
                 "  incontext train needle --full\n"},
      add_options, at_place, needle_tables);
}

}  // namespace

Subcommand subcommand() {
  return {.name = "train",
          .question = "What does attention become when it is trained, and is it what the theory says?",
          .description =
              "Trains attention from scratch, with exact gradients, and shows what it becomes beside the theory.\n"
              "incontext train TASK --help lists the figures and the options of a task.\n",
          .tasks = {classification(), regression(), reasoning(), affine(), quantifier(), recall(), needle()}};
}

}  // namespace incontext::examples::train
