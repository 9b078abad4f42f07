// incontext-scores: which weights attention's scoring maps make of a row of scores, for one's own rows and as figures
// of the papers, with the claims of theory about them.

#include "examples/scores/fading_figures.hpp"
#include "examples/scores/figures.hpp"
#include "examples/scores/options.hpp"
#include "examples/scores/prompt_figure.hpp"
#include "examples/scores/rows.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"

namespace {

using namespace incontext::examples;
using namespace incontext::examples::scores;

std::vector<Table> figure_tables(const ScoresOptions& o, Claims& claims) {
  if (o.figure == "approximation") return approximation_figure(o, claims);
  if (o.figure == "ssa-base") return ssa_base_figure(claims);
  if (o.figure == "ssmax-fading") return ssmax_fading_figure(o, claims);
  if (o.figure == "ssmax-threshold") return ssmax_threshold_figure(o, claims);
  if (o.figure == "deviant") return deviant_figure(o, claims);
  if (o.figure == "prompt") return prompt_figure(claims);
  return normsoftmax_bound_figure(o, claims);
}

Report report_of(const CLI::App& app, const ScoresOptions& options) {
  const UnusedOptions unused = check_combination(app, options);
  Report report{.program = "incontext-scores", .command = command_of(app), .arguments = unused.arguments()};
  if (!options.figure.empty()) {
    Claims claims;
    report.tables = figure_tables(options, claims);
    report.tables.push_back(claims.table());
    report.verdict = claims.verdict();
  } else {
    report.tables = options.scores.empty() ? row_tables(app, options) : matrix_tables(app, options);
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  ScoresOptions options;
  return run_program(
      {.name = "incontext-scores",
       .description =
           "Weights that attention's scoring maps give to a row of scores: softmax, SSMax, SSA, NormSoftmax, entmax\n"
           "and others. Figures of the papers with their thresholds and bounds, or any map on your own scores.\n"
           "Exit code: 0 every claim holds, or nothing is claimed, 1 one fails, 2 bad input.",
       .footer = "\nExamples:\n"
                 "  incontext-scores --figure ssmax-fading --lengths 10,100,1000\n"
                 "  incontext-scores --row 1,2,3 --map ssmax --s 0.43 --direction 1,0,0 --norms\n"
                 "  incontext-scores --scores scores.npy --map entmax --alpha 1.5 --causal --weights weights.npy\n"},
      argc, argv, [&](CLI::App& app) { add_scores_options(app, options); },
      [&](const CLI::App& app) { return deliver(report_of(app, options), options.output); });
}
