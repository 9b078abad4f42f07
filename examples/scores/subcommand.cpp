// incontext scores: which weights attention's scoring maps make of a row of scores, for one's own rows and as figures
// of the papers, with the claims of theory about them.

#include "examples/incontext/subcommand.hpp"
#include "examples/scores/fading_figures.hpp"
#include "examples/scores/figures.hpp"
#include "examples/scores/options.hpp"
#include "examples/scores/prompt_figure.hpp"
#include "examples/scores/rows.hpp"
#include "examples/support/progress.hpp"

namespace incontext::examples::scores {

namespace {

std::vector<Table> figure_tables(const ScoresOptions& o, Claims& claims) {
  if (o.figure == "approximation") return approximation_figure(o, claims);
  if (o.figure == "ssa-base") return ssa_base_figure(claims);
  if (o.figure == "ssmax-fading") return ssmax_fading_figure(o, claims);
  if (o.figure == "ssmax-threshold") return ssmax_threshold_figure(o, claims);
  if (o.figure == "deviant") return deviant_figure(o, claims);
  if (o.figure == "prompt") return prompt_figure(claims);
  return normsoftmax_bound_figure(o, claims);
}

Report report_of(const CLI::App& app, ScoresOptions& options) {
  Report report = report_on(app, check_combination(app, options));
  if (!options.figure.empty()) {
    Claims claims;
    ProgressLine line(options.output.quiet);
    line.show("figure " + options.figure, 0, 1, 0);
    report.tables = figure_tables(options, claims);
    report.tables.push_back(claims.table());
    report.verdict = claims.verdict();
  } else {
    report.tables = options.scores.empty() ? row_tables(app, options) : matrix_tables(app, options);
  }
  return report;
}

}  // namespace

Subcommand subcommand() {
  return reporting<ScoresOptions>(
      {.name = "scores",
       .question = "Which weights do softmax, SSMax, SSA, NormSoftmax and other maps give to a row of scores?",
       .description =
           "Weights that attention's scoring maps give to a row of scores: softmax, SSMax, SSA, NormSoftmax, entmax\n"
           "and others. Figures of the papers with their thresholds and bounds, or any map on your own scores.\n"
           "Exit code: 0 every claim holds, or nothing is claimed, 1 one fails, 2 bad input.",
       .footer = "\nExamples:\n"
                 "  incontext scores --figure ssmax-fading --lengths 10,100,1000\n"
                 "  incontext scores --row 1,2,3 --map ssmax --s 0.43 --direction 1,0,0 --norms\n"
                 "With scores.npy, raw attention scores of your own:\n"
                 "  incontext scores --scores scores.npy --map entmax --alpha 1.5 --causal --weights weights.npy\n"},
      add_scores_options, report_of);
}

}  // namespace incontext::examples::scores
