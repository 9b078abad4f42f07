// incontext gradients: why queries and keys learn late. It prints the gradient of W_K over that of W_V at
// initialization as the attention temperature varies (arXiv 2310.12956), the exact law beside simulations.

#include "examples/incontext/subcommand.hpp"
#include "examples/gradients/figures.hpp"
#include "examples/gradients/options.hpp"

namespace incontext::examples::gradients {

namespace {

Report report_of(const CLI::App& app, GradientOptions& options) {
  Report report = report_on(app, complete(app, options));
  state_used(options, report.arguments);
  Controls controls({{"statement"}, {.name = "score_stddev", .heading = "x", .digits = 4}});
  Simulator simulator(options.simulation, options.output.quiet);
  return judged(std::move(report), simulator, controls, [&](Report&, Judgment& judgment) {
    GradientRun parts{options, simulator, judgment, controls};
    return figure_tables(parts);
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<GradientOptions>(
      {.name = "gradients",
       .question = "Why do queries and keys learn late, and how does the temperature help?",
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
                 "  incontext gradients --temperatures 1,4,16 --key-dimension 32\n"
                 "  incontext gradients --figure frozen --score-stddevs 1,4,8\n"
                 "  incontext gradients --figure schedule --epochs 20 --output schedule.csv\n"},
      add_gradient_options, report_of);
}

}  // namespace incontext::examples::gradients
