#include "examples/temperature/sweep.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "examples/support/closed_forms.hpp"

namespace incontext::examples::temperature {

const std::vector<double>& usual_temperatures() {
  static const std::vector<double> temperatures{0.5, 0.7, 1, 1.4, 2, 4};
  return temperatures;
}

std::vector<Table> sweep_tables(Run& run, const LinearTask& training) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const Situation at{regression::pretrained_attention(training, l), shifted(training, o), l};
  const bool exact = o.reading.scoring != ScoringChoice::softmax;
  const Parabola error = error_beside(at, o.reading);

  const std::string scoring = o.reading.scoring == ScoringChoice::linear ? "Linear attention"
                              : exact                                    ? "Approximate softmax"
                                                                         : "Softmax";
  Table table = comparison_table(scoring + " against temperature: d = " + std::to_string(training.dimension()) +
                                     ", l = " + std::to_string(l) + ", noise " + in_words(training.noise_variance()) +
                                     ", tested with noise " + in_words(at.task.noise_variance()) + unusual_in_words(o),
                                 {});
  const std::vector<double> grid = o.temperatures.empty() ? usual_temperatures() : o.temperatures;
  run.arguments["temperatures"] = grid;
  run.arguments["test-noise-variance"] = at.task.noise_variance();
  run.simulator.announce("temperatures");
  add_attention_rows(table, run, {}, at, named_temperatures(grid, error.optimal_temperature()), o.reading);
  add_bayes_row(table, run, {}, at.task, l);
  if (!exact) {
    table.notes.push_back(
        "Approximate for softmax, and its τ*, is the theory of approximate softmax, which softmax follows in long "
        "contexts only.");
  }
  table.notes.push_back(gain_note(exact ? "Theory" : "Approximate softmax", error));
  table.notes.push_back(bayes_note);
  table.notes.push_back(common_draws_note);
  return {std::move(table)};
}

}  // namespace incontext::examples::temperature
