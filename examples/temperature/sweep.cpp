#include "examples/temperature/sweep.hpp"

#include <incontext/regression/pretrained_attention.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace incontext::examples::temperature {

std::vector<Table> sweep_tables(Run& run, const LinearTask& training) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const Situation at{regression::pretrained_attention(training, l), shifted(training, o.law), l};
  const ErrorTheory error = theory_of(at, o.reading);

  const bool has_own_noise = at.task.noise_variance() != training.noise_variance();
  std::string scoring = scoring_in_words(o.reading.scoring);
  scoring.front() = static_cast<char>(scoring.front() - 'a' + 'A');
  Table table = comparison_table(
      scoring + " against temperature: d = " + std::to_string(training.dimension()) + ", l = " + std::to_string(l) +
          ", noise " + in_words(training.noise_variance()) +
          (has_own_noise ? ", tested with noise " + in_words(at.task.noise_variance()) : "") + unusual_in_words(o),
      {}, o.reading);
  run.arguments["test-noise-variance"] = at.task.noise_variance();
  run.simulator.announce("temperatures");
  add_attention_rows(table, run, {}, at, error, named_temperatures(o.temperatures, error), o.reading);
  add_reference_rows(table, run, {}, at.task, l, o.reading);
  if (o.reading.scoring == ScoringChoice::softmax && !error.exact) {
    table.notes.push_back(
        "No exact law is known for softmax with its query among the keys unless M is a multiple of the inverse of the "
        "inputs' covariance; the theory of approximate softmax stands beside it.");
  }
  if (error.exact || error.beside)
    table.notes.push_back(gain_note(error.exact ? "Theory" : "Approximate softmax", error));
  if (const std::string note = rejections_note(table, o.reading); !note.empty()) table.audit_notes.push_back(note);
  table.notes.push_back(references_note(table));
  table.draw_notes.push_back(common_draws_note);
  return {std::move(table)};
}

}  // namespace incontext::examples::temperature
