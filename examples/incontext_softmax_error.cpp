// incontext-softmax-error: the exact error of true softmax attention, SSMax and SSA on in-context regression, beside
// its second order, approximate softmax, the Bayes risk and simulation.

#include "examples/softmax_error/options.hpp"
#include "examples/softmax_error/tables.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/memory.hpp"
#include "examples/support/report.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::softmax_error;

Report report_of(const CLI::App& app, SoftmaxErrorOptions& options) {
  const UnusedOptions unused = complete(app, options);
  Report report{.program = "incontext-softmax-error", .command = command_of(app), .arguments = unused.arguments()};
  state_used(options, report.arguments);
  constexpr double matrices = 16;  // the most that the second order and the general law need
  for (const std::int64_t dimension : options.dimensions) require_matrices(dimension, matrices);
  require_matrices(options.simulation.dimension, matrices);
  Judgment judgment;
  Simulator simulator(options.simulation, options.estimator, options.output.quiet);
  Run parts{options, simulator, judgment};
  report.tables = softmax_error_tables(parts);
  report.run = simulator.summary();
  judge(report, judgment);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  SoftmaxErrorOptions options;
  return run_program(
      {.name = "incontext-softmax-error",
       .description =
           "The error of true softmax attention in in-context linear regression: exact at every context\n"
           "length, for any covariances, shifts and means, beside its second order in 1/l, approximate\n"
           "softmax, the Bayes risk and simulation; and the temperatures at which each errs least. By default\n"
           "inputs N(0, a I), tasks N(0, b I), scores m x_j . x_q, values v y_j, and the query attends to the\n"
           "examples only.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-softmax-error --dimension 40 --context-length 1000\n"
                 "  incontext-softmax-error --vary context-length --context-lengths 10,100,1000\n"
                 "  incontext-softmax-error --attention pretrained --test-input-covariance S.npy --mean-shift 1\n"
                 "  incontext-softmax-error --vary map --exponents 1.5,3 --output maps.csv\n"},
      argc, argv, [&](CLI::App& app) { add_softmax_error_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
