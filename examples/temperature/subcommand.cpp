// incontext temperature: how the error of in-context regression depends on the attention temperature, theory beside
// simulation, for a figure of arXiv 2511.01292, for laws of one's own choice, or for one's own data.

#include "examples/incontext/subcommand.hpp"
#include "examples/support/memory.hpp"
#include "examples/temperature/data.hpp"
#include "examples/temperature/figures.hpp"
#include "examples/temperature/options.hpp"
#include "examples/temperature/scores.hpp"
#include "examples/temperature/sweep.hpp"

namespace incontext::examples::temperature {

namespace {

Report report_of(const CLI::App& app, TemperatureOptions& options) {
  Report report = report_on(app, check_combination(app, options));
  if (!options.scores.empty()) {
    report.tables = {scores_table(options)};
    return report;
  }
  constexpr double ridge_matrices = 4 * 64;  // for the 64 trials that a thread computes side by side
  if (options.data.empty()) require_matrices(options.simulation.dimension, ridge_matrices);
  Controls controls({{"statement"}, {"at"}});
  Simulator simulator(options.simulation, options.output.quiet);
  return judged(std::move(report), simulator, controls, [&](Report& filled, Judgment& judgment) {
    Run parts{options, simulator, judgment, controls, filled.arguments};
    if (!options.data.empty()) return data_tables(parts);
    const LinearTask training = training_task(options.law, options.simulation.dimension, is_given(app, "--dimension"));
    filled.arguments["dimension"] = training.dimension();
    state_reading(options, filled.arguments);
    if (options.law.task_covariance.empty() && !options.law.has_task_variance) {
      filled.arguments["task-variance"] = 1 / static_cast<double>(training.dimension());
    }
    return options.figure.empty() ? sweep_tables(parts, training) : figure_tables(parts, training);
  });
}

}  // namespace

Subcommand subcommand() {
  return reporting<TemperatureOptions>(
      {.name = "temperature",
       .question = "At which temperature does in-context regression err least, and what does another one cost?",
       .description =
           "The error of in-context linear regression against the attention temperature, closed form beside\n"
           "simulation. Without --figure, --data or --scores: many temperatures of an attention pretrained on\n"
           "one law and tested on another. Figures of arXiv 2511.01292 and what belongs to them:\n"
           "  --figure 2a          the error against the context length\n"
           "  --figure 2b, 2c      under another covariance of the inputs, of the tasks\n"
           "  --figure 3a, 3b      under more noise, against the length and against the noise\n"
           "  --figure 3c          the best temperature against the noise\n"
           "  --figure 6, 7        the best temperature and rules for it under four shifts, and the error at the "
           "rules\n"
           "  --figure mean-shift  inputs whose mean moves\n"
           "  --figure scores      the moment ratio of drawn scores, Appendix J\n" +
           std::string(exit_codes_help),
       .footer = "\nExamples:\n"
                 "  incontext temperature --input-scale 2 --context-length 40\n"
                 "  incontext temperature --figure 2a --output figure.json\n"
                 "With the table of diabetes patients of the source folder:\n"
                 "  incontext temperature --data examples/data/diabetes.csv --labels progression --standardize\n"
                 "With scores.npy, raw attention scores of your own:\n"
                 "  incontext temperature --scores scores.npy --causal\n"},
      add_temperature_options, report_of);
}

}  // namespace incontext::examples::temperature
