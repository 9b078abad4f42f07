// incontext fading: what softmax attention does to long rows of random scores, the exact law beside simulations: where
// a needle's weight fades, where a row freezes, and which score is found among how many.

#include "examples/incontext/subcommand.hpp"
#include "examples/fading/figures.hpp"
#include "examples/fading/options.hpp"
#include "examples/fading/simulator.hpp"

namespace incontext::examples::fading {

namespace {

Report report_of(const CLI::App& app, FadingOptions& options) {
  Report report = report_on(app, check_combination(app, options));
  Controls controls;
  Simulator simulator(options.simulation, most_scores(options), options.output.quiet);
  const bool by_trials = !(options.simulation.relative_error > 0);
  if (by_trials || options.figure == FadingFigure::phase) report.arguments["most-scores"] = most_scores(options);
  return judged(std::move(report), simulator, controls, [&](Report& filled, Judgment& judgment) {
    FadingRun parts{options, simulator, judgment, controls, filled.arguments};
    return figure_tables(parts);
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<FadingOptions>(
      {.name = "fading",
       .question = "Where do long rows of scores fade or freeze, and which score is found among how many?",
       .description =
           "Softmax attention over long rows of random scores, exact law beside simulation.\n"
           "  --figure phase      inverse participation ratio Y_2, largest weight and entropy of rows of normal "
           "scores,\n"
           "                      from even weights to a frozen few (the default)\n"
           "  --figure fading     a needle of given height as rows get longer: softmax and SSMax\n"
           "  --figure retrieval  the score SSMax needs among normal competitors, and the weight around it\n"
           "  --figure bounded    the same among scores on [0, 1], with the lag behind 1 + 1/s\n"
           "  --figure diagram    the plane of needle and noise: exact boundary, weight in --points x --points cells\n"
           "  --figure optimum    the inverse temperature p_n of least cross entropy against n, and the law it "
           "follows\n"
           "Limits are negative controls where they do not hold: the simulation must reject them.\n"
           "A control that is not rejected is a disagreement.\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext fading --figure retrieval --lengths 1000,1e6 --s 0.3\n"
                 "  incontext fading --figure phase --lengths 1e5 --score-stddevs 0.4,0.6,0.8 --most-scores 1e9\n"
                 "  incontext fading --figure diagram --lengths 1e6 --points 100 --format csv --output plane.csv\n"},
      add_fading_options, report_of);
}

}  // namespace incontext::examples::fading
