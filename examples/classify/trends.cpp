#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

/// One row of the optima: the parameters found, and what two classes' closed forms make of this kappa.
ByVotes add_optimum(Table& table, ClassifyRun& run, const SphereTask& task, RuleChoice choice) {
  const Chosen best = best_of(run.simulator, task, choice);
  const Chosen linear = best_of(run.simulator, task, RuleChoice::linear);
  const OptimumError error = error_of_best(run.simulator, task, choice);
  const auto simulated = run.simulator.contrasts("losses", task, {best.classifier, linear.classifier}, {{0, 1}});
  const auto& loss = simulated.at(0, ClassificationMetric::loss);
  const auto& gained = simulated.loss_difference(0);
  const double kappa = best.classifier.kappa;
  const bool has_prediction = best.reached && is_softmax(choice);
  table.add_row({task.dimension, task.context_length, best.kappa(), error.kappa,
                 best.reached ? Cell(1 / std::sqrt(kappa)) : Cell(), best.gain(), error.gain,
                 has_prediction ? Cell(predicted_gain(task, best.classifier)) : Cell(), mean_cell(loss),
                 error_cell(loss), mean_cell(gained), error_cell(gained), best.edge, loss.count});
  return {task, best, loss, simulated.at(0, ClassificationMetric::accuracy),
          simulated.at(0, ClassificationMetric::entropy)};
}

void add_cells(std::vector<Cell>& cells, const Chosen& observed, std::optional<Cell> error, double predicted) {
  const double gain = observed.classifier.gain;
  cells.push_back(observed.gain());
  if (error) cells.push_back(*error);
  cells.insert(cells.end(), {predicted, observed.reached ? Cell(gain / predicted) : Cell()});
}

Table trend_table(double kappa, std::int64_t n) {
  Table table{.title = "Best rate of linear, best gain of softmax at kappa = " + in_words(kappa) +
                       ", against two classes' closed forms scaled to k: n = " + std::to_string(n),
              .columns = {{"d"},
                          {"k"},
                          parameter_column("rate", "rate"),
                          {.name = "rate_error", .heading = "± log", .digits = 2},
                          parameter_column("predicted_rate", "predicted"),
                          {.name = "rate_ratio", .heading = "ratio", .digits = 3},
                          parameter_column("gain", "c"),
                          {.name = "gain_error", .heading = "± log", .digits = 2},
                          parameter_column("predicted_gain", "predicted"),
                          {.name = "gain_ratio", .heading = "ratio", .digits = 3},
                          {.name = "gain_no_key", .in_text = InText::hidden},

                          {.name = "predicted_no_key", .in_text = InText::hidden},
                          {.name = "no_key_ratio", .in_text = InText::hidden}}};
  table.notes = {
      "predicted: rate pi sqrt(n k d / 6), gain pi sqrt(n k / 6 v) times 1 + e^kappa / (n A_d) with the query's key: "
      "the boundary's closed forms for two classes, a rule of thumb for more.",
      "± log: standard error of the logarithm of what was found, from searches on four parts of as many contexts."};
  return table;
}

/// The trend's row of one task, and its losses at the best rate.
void add_trend(Table& table, Table& losses, ClassifyRun& run, const SphereTask& task, double kappa) {
  const std::int64_t d = task.dimension, k = task.classes, n = task.context_length;
  const Chosen linear = best_of(run.simulator, task, RuleChoice::linear);
  std::vector<Cell> cells{d, k};
  add_cells(cells, linear, error_of_best(run.simulator, task, RuleChoice::linear).gain, predicted_rate(task));
  for (const RuleChoice choice : {RuleChoice::adaptive_with_query, RuleChoice::adaptive}) {
    const Chosen best = best_of(run.simulator, task, choice, kappa);
    std::optional<Cell> error;
    if (choice == RuleChoice::adaptive_with_query) error = error_of_best(run.simulator, task, choice, kappa).gain;
    add_cells(cells, best, error, predicted_gain(task, best.classifier));
  }
  table.add_row(std::move(cells));
  std::vector<std::pair<std::string, Chosen>> rates{{"found", linear}};
  if (k == 2) {
    const Classifier best{ClassificationRule::linear, 0, two_class_best_rate(d, n).rate};
    rates.push_back({"theory's", given(RuleChoice::linear, best)});
  }
  for (const auto& [name, rate] : rates) {
    const auto simulated = run.simulator.metrics("loss", task, {rate.classifier});
    add_comparison(losses, run, {d, k, rate.gain(), name}, task, rate, ClassificationMetric::loss,
                   simulated.at(0, ClassificationMetric::loss));
  }
}

}  // namespace

std::vector<Table> optima_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const RuleChoice choice = o.rule == RuleChoice::all ? RuleChoice::adaptive_with_query : o.rule;
  const bool by_length = !o.context_lengths.empty();
  const std::string fixed = by_length ? "d = " + std::to_string(o.simulation.dimension)
                                      : "n = " + std::to_string(o.simulation.context_length);
  Table table{.title = "Best width and " + std::string(choice == RuleChoice::kernel ? "rate" : "gain") + " of " +
                       name_of(choice) + " against " + (by_length ? "context length" : "dimension") +
                       ": k = " + std::to_string(o.classes) + ", " + fixed,
              .columns = {{"d"},
                          {"n"},
                          parameter_column("kappa", "kappa"),
                          {.name = "kappa_error", .heading = "± log", .digits = 2},
                          {.name = "sigma", .in_text = InText::hidden},
                          parameter_column("gain", choice == RuleChoice::kernel ? "rate" : "c"),
                          {.name = "gain_error", .heading = "± log", .digits = 2},
                          parameter_column("predicted_gain", "predicted"),
                          {.name = "loss", .digits = 4, .decimals_as = 1},
                          {.name = "standard_error", .in_text = InText::hidden},
                          {.name = "difference", .heading = "less linear's", .digits = 2, .decimals_as = 2},
                          {.name = "difference_error", .heading = "± error", .decimals_as = 2},
                          {.name = "edge"},
                          trials_column()}};
  const auto& values = by_length ? o.context_lengths : o.dimensions;
  std::vector<ByVotes> by_votes;
  for (const std::int64_t value : values) {
    const SphereTask task = by_length ? SphereTask{o.simulation.dimension, o.classes, value}
                                      : SphereTask{value, o.classes, o.simulation.context_length};
    by_votes.push_back(add_optimum(table, run, task, choice));
  }
  table.notes = {
      "As the paper's Fig. 16 ends, by search in place of training; its text gives no settings, these are ours.",
      "± log: standard error of the logarithm, from searches on four parts of as many contexts; less linear's: on "
      "common contexts, not those of the searches.",
      "predicted: pi sqrt(n k / 6 v), and the query's share, at this kappa: for two classes, scaled to k; no theory of "
      "kappa itself. An edge is no optimum: softmax at the lowest kappa is the linear rule."};
  return {std::move(table), attention_table(run, by_votes),
          by_length ? referee_table(run, {o.simulation.dimension}) : referee_table(run, o.dimensions)};
}

std::vector<Table> trend_figure(ClassifyRun& run) {
  const ClassifyOptions& o = run.options;
  const double kappa = o.kappa.value_or(trend_kappa);
  Table table = trend_table(kappa, o.simulation.context_length);
  Table losses = comparison_table("Loss at the best rate: found, and of two classes as theory has it",
                                  {{"d"}, {"k"}, parameter_column("rate", "rate"), {"rate_is"}});
  losses.columns[3].heading = "rate is";
  losses.notes = {closed_form_note};
  for (const std::int64_t d : o.dimensions) {
    for (const std::int64_t k : o.class_counts) {
      add_trend(table, losses, run, {d, k, o.simulation.context_length}, kappa);
    }
  }
  return {std::move(table), std::move(losses), referee_table(run, o.dimensions)};
}

}  // namespace incontext::examples::classify
