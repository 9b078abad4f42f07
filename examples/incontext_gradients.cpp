// incontext-gradients: why queries and keys learn late. It prints the gradient of W_K over that of W_V at
// initialization as the attention temperature varies (arXiv 2310.12956), the exact law beside simulations.

#include "examples/gradients/figures.hpp"
#include "examples/gradients/options.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::gradients;

Report report_of(const CLI::App& app, GradientOptions& options) {
  const UnusedOptions unused = complete(app, options);
  Report report{.program = "incontext-gradients", .command = command_of(app), .arguments = unused.arguments()};
  state_used(options, report.arguments);
  Judgment judgment;
  Controls controls({{"statement"}, {.name = "score_stddev", .heading = "x", .digits = 4}});
  Simulator simulator(options.simulation, options.output.quiet);
  GradientRun parts{options, simulator, judgment, controls};
  report.tables = figure_tables(parts);
  if (!controls.empty()) report.tables.push_back(controls.table());
  report.run = simulator.summary();
  judge(report, judgment);
  controls.join(*report.verdict);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  GradientOptions options;
  return run_program(
      {.name = "incontext-gradients",
       .description =
           "The gradient of W_K over that of W_V in a softmax layer at initialization, tokens N(0, I), exact law\n"
           "beside simulation. x is the scores' standard deviation over the temperature.\n"
           "  --figure temperature  the ratio against the temperature (the default: a small ViT)\n"
           "  --figure frozen       root mean square and median as rows freeze\n"
           "  --figure schedule     Heat Treatment, epoch by epoch\n"
           "  --figure normsoftmax  softmax and NormSoftmax as the scores' scale varies\n"
           "  --figure queries      the same for W_Q, which has W_K's law up to a part 1 / d_k\n"
           "  --figure groups       two groups of tokens, one attended to: which feeds the gradient of W_K\n"
           "  --figure ends         the Jacobian at both ends, even and frozen, and the rule tau = sqrt(d_k)\n"
           "A negative control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext-gradients --temperatures 1,4,16 --key-dimension 32\n"
                 "  incontext-gradients --figure frozen --score-stddevs 1,4,8\n"
                 "  incontext-gradients --figure schedule --epochs 20 --output schedule.csv\n"},
      argc, argv, [&](CLI::App& app) { add_gradient_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
