// incontext softmax-error: the exact error of true softmax attention, SSMax and SSA on in-context regression, beside
// its second order, approximate softmax, the Bayes risk and simulation.

#include "examples/incontext/subcommand.hpp"
#include "examples/softmax_error/options.hpp"
#include "examples/softmax_error/tables.hpp"
#include "examples/support/memory.hpp"

namespace incontext::examples::softmax_error {

namespace {

Report report_of(const CLI::App& app, SoftmaxErrorOptions& options) {
  Report report = report_on(app, complete(app, options));
  state_used(options, report.arguments);
  constexpr double matrices = 16;  // the most that the second order and the general law need
  for (const std::int64_t dimension : options.dimensions) require_matrices(dimension, matrices);
  require_matrices(options.simulation.dimension, matrices);
  Controls none;
  Simulator simulator(options.simulation, options.estimator, options.output.quiet);
  return judged(std::move(report), simulator, none, [&](Report&, Judgment& judgment) {
    Run parts{options, simulator, judgment};
    return softmax_error_tables(parts);
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<SoftmaxErrorOptions>(
      {.name = "softmax-error",
       .question = "How much does true softmax attention err in regression, exactly, and at which temperature least?",
       .description =
           "The error of true softmax attention in in-context linear regression: exact at every context\n"
           "length, for any covariances, shifts and means, beside its second order in 1/l, approximate\n"
           "softmax, the Bayes risk and simulation; and the temperatures at which each errs least. By default\n"
           "inputs N(0, a I), tasks N(0, b I), and the layer of incontext temperature, pretrained on this law,\n"
           "whose query attends to the examples only.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext softmax-error --input-scale 2 --context-length 40\n"
                 "  incontext softmax-error --vary context-length --context-lengths 10,100,1000\n"
                 "  incontext softmax-error --vary map --exponents 1.5,3 --output maps.csv\n"
                 "  incontext softmax-error --vary heads --heads 1,2 --context-length 40\n"
                 "With S.npy, a covariance of your own:\n"
                 "  incontext softmax-error --test-input-covariance S.npy --mean-shift 1 --no-simulation\n"},
      add_softmax_error_options, report_of);
}

}  // namespace incontext::examples::softmax_error
