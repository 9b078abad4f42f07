// incontext classify: in-context classification on the sphere by gradient descent, kernel gradient descent and softmax
// attention. It prints closed forms beside simulations: which rule has the least loss, with which parameters, and
// where.

#include "examples/incontext/subcommand.hpp"
#include "examples/classify/contexts.hpp"
#include "examples/classify/controls.hpp"
#include "examples/classify/figures.hpp"
#include "examples/classify/options.hpp"
#include "examples/classify/simulator.hpp"

namespace incontext::examples::classify {

namespace {

Report report_of(const CLI::App& app, ClassifyOptions& options) {
  const UnusedOptions unused = complete(app, options);
  require_possible_files(options);
  Report report{.program = "incontext classify", .command = command_of(app), .arguments = unused.arguments()};
  state_used(options, report.arguments);
  Controls controls;
  Simulator simulator(options.simulation, options.search_trials, options.output.quiet);
  return judged(std::move(report), simulator, controls, [&](Report&, Judgment& judgment) {
    ClassifyRun parts{options, simulator, judgment, controls};
    std::vector<Table> tables = figure_tables(parts);
    if (!options.contexts_file.empty()) write_contexts(options, simulator);
    return tables;
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<ClassifyOptions>(
      {.name = "classify",
       .question = "Which rule classifies best in context: a gradient step, one with a kernel, or attention?",
       .description =
           "Classification in context: points of the sphere, labeled by the nearest of k hidden prototypes, as\n"
           "many of each class. One gradient step on them classifies a query: linear, with a kernel of width\n"
           "sigma = 1/sqrt(kappa), or at a rate that adapts to the query, which is softmax attention, gain c.\n"
           "  --figure rules        losses, accuracies, entropies, sensitivities and distances of the rules,\n"
           "                        each at its best parameters or at given ones (the default)\n"
           "  --figure laws         what is known exactly of the adaptive rate, of attention and of the rules,\n"
           "                        beside simulation and beside attention token by token\n"
           "  --figure 4, 5         linear, softmax attention with constructed weights beside its step (untrained)\n"
           "  --figure 6            decision boundaries on the circle, one context\n"
           "  --figure 7            losses and accuracies against context length (Table 1)\n"
           "  --figure 8a           spread of the partition function against the kernel's width\n"
           "  --figure 8b           one rate in dense and in sparse neighborhoods, d = 2, and softmax' own\n"
           "  --figure 16           the best width and gain against dimension or context length\n"
           "Not the paper's:\n"
           "  --figure valley       the loss over kappa and gain: the valley c kappa = const\n"
           "  --figure rates        the best rate and gain of k classes beside their closed forms\n"
           "  --figure elimination  kappa < 0, c < 0: attend to the farthest and subtract their labels\n"
           "  --figure onset        the context length from which softmax gains by a kernel\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext classify --dimension 2 --rule softmax --kappa 30 --gain 12\n"
                 "  incontext classify --figure 6 --format json --output boundaries.json\n"
                 "  incontext classify --figure valley --dimension 10\n"
                 "  incontext classify --contexts contexts.npy --contexts-count 100 --rule linear --quiet\n"
                 "    (inputs: 100 contexts x 101 points x dimension, the query last; labels: integers, 100 x 101;\n"
                 "    drawn in double precision, while the run simulates in single, with normals of its own)\n"},
      add_classify_options, report_of);
}

}  // namespace incontext::examples::classify
