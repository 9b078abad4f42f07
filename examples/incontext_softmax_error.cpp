// incontext-softmax-error: the exact error of true softmax attention, SSMax and SSA on in-context regression, beside
// its second order, approximate softmax, the Bayes risk and simulation.

#include "examples/softmax_error/options.hpp"
#include "examples/softmax_error/tables.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/memory.hpp"
#include "examples/support/report.hpp"

namespace {

using namespace incontext::examples;

int run(const CLI::App& app, SoftmaxErrorOptions& options) {
  complete(app, options);
  if (!options.output.to_standard_output()) require_writable(options.output.file);
  Report report{.program = "incontext-softmax-error", .arguments = arguments_of(app)};
  constexpr double matrices = 16;  // at most, of the second order and the general law
  for (const std::int64_t dimension : options.dimensions) require_matrices(dimension, matrices);
  require_matrices(options.simulation.dimension, matrices);
  Judgement judgement;
  Simulator simulator(options.simulation, options.estimator, options.output.quiet);
  Run parts{options, simulator, judgement};
  report.tables = softmax_error_tables(parts);
  Table& errors = report.tables.front();
  if (simulator.stopped()) errors.notes.push_back("Stopped by Ctrl-C: rows that were not reached are missing.");
  if (judgement.size() > 0) errors.notes.push_back(judgement.note());
  report.verdict = judgement.verdict();
  deliver(report, options.output);
  return report.verdict.agrees ? exit_agreement : exit_disagreement;
}

}  // namespace

int main(int argc, char** argv) {
  SoftmaxErrorOptions options;
  return run_program(
      {.name = "incontext-softmax-error",
       .description = "The error of true softmax attention in in-context linear regression on the isotropic family\n"
                      "(inputs N(0, a I), tasks N(0, b I), scores m x_j . x_q, values v y_j; the query attends to the\n"
                      "examples only): exact at every context length, beside its second order in 1/l, approximate\n"
                      "softmax, the Bayes risk and simulation; and the temperatures at which each errs least.\n"
                      "Exit code: 0 agreement, 1 a disagreement beyond the family-wise bound, 2 bad input."},
      argc, argv, [&](CLI::App& app) { add_softmax_error_options(app, options); },
      [&](const CLI::App& app) { return run(app, options); });
}
