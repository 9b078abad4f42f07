#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/classify/figures.hpp"
#include "examples/classify/theory.hpp"

namespace incontext::examples::classify {

namespace {

bool is_softmax(RuleChoice choice) {
  return choice == RuleChoice::adaptive || choice == RuleChoice::adaptive_with_query;
}

/// One row of the optima: the parameters found, and what the closed forms of two classes predict at this kappa.
void add_optimum(Table& table, ClassifyRun& run, const SphereTask& task, RuleChoice choice) {
  const Chosen best = best_of(run.simulator, task, choice);
  const Chosen linear = best_of(run.simulator, task, RuleChoice::linear);
  const auto simulated = run.simulator.metrics("losses", task, {best.classifier, linear.classifier});
  const auto& loss = simulated.at(0, ClassificationMetric::loss);
  const auto& linear_loss = simulated.at(1, ClassificationMetric::loss);
  const double kappa = best.classifier.kappa;
  const bool has_prediction = best.reached && is_softmax(choice);
  table.add_row({task.dimension, task.context_length, best.kappa(), best.reached ? Cell(1 / std::sqrt(kappa)) : Cell(),
                 best.gain(), has_prediction ? Cell(predicted_gain(task, best.classifier)) : Cell(), mean_cell(loss),
                 error_cell(loss), mean_cell(linear_loss), best.edge, loss.count});
}

void add_cells(std::vector<Cell>& cells, const Chosen& observed, double predicted) {
  const double gain = observed.classifier.gain;
  cells.insert(cells.end(), {observed.gain(), predicted, observed.reached ? Cell(gain / predicted) : Cell()});
}

Table trend_table(double kappa, std::int64_t n) {
  Table table{.title = "Best rate of linear, best gain of softmax at kappa = " + in_words(kappa) +
                       ", against two classes' closed forms scaled to k: n = " + std::to_string(n),
              .columns = {{"d"},
                          {"k"},
                          parameter_column("rate", "rate"),
                          parameter_column("predicted_rate", "predicted"),
                          {.name = "rate_ratio", .heading = "ratio", .digits = 3},
                          parameter_column("gain", "c"),
                          parameter_column("predicted_gain", "predicted"),
                          {.name = "gain_ratio", .heading = "ratio", .digits = 3},
                          parameter_column("gain_no_key", "c, no key"),
                          parameter_column("predicted_no_key", "predicted"),
                          {.name = "no_key_ratio", .heading = "ratio", .digits = 3}}};
  table.notes = {
      "predicted: rate pi sqrt(n k d / 6), gain pi sqrt(n k / 6 v) times 1 + e^kappa / (n A_d) with the query's key: "
      "the boundary's closed forms for two classes, a rule of thumb for more.",
      "Rates and gains found are known to a few percent, because the loss is flat near its minimum."};
  return table;
}

/// The trend's row of one task, and its losses at the best rate.
void add_trend(Table& table, Table& losses, ClassifyRun& run, const SphereTask& task, double kappa) {
  const std::int64_t d = task.dimension, k = task.classes, n = task.context_length;
  const Chosen linear = best_of(run.simulator, task, RuleChoice::linear);
  std::vector<Cell> cells{d, k};
  add_cells(cells, linear, predicted_rate(task));
  for (const RuleChoice choice : {RuleChoice::adaptive_with_query, RuleChoice::adaptive}) {
    const Chosen best = best_of(run.simulator, task, choice, kappa);
    add_cells(cells, best, predicted_gain(task, best.classifier));
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
                          parameter_column("sigma", "sigma"),
                          parameter_column("gain", choice == RuleChoice::kernel ? "rate" : "c"),
                          parameter_column("predicted_gain", "predicted"),
                          {.name = "loss", .digits = 4, .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {.name = "linear", .heading = "linear's", .decimals_as = 1},
                          {.name = "edge"},
                          trials_column()}};
  const auto& values = by_length ? o.context_lengths : o.dimensions;
  for (const std::int64_t value : values) {
    add_optimum(table, run,
                by_length ? SphereTask{o.simulation.dimension, o.classes, value}
                          : SphereTask{value, o.classes, o.simulation.context_length},
                choice);
  }
  table.notes = {
      "The paper's text gives no settings for this figure; these are ours.",
      "predicted: pi sqrt(n k / 6 v), and the query's share, at this kappa: for two classes, scaled to k; no theory of "
      "kappa itself. An edge is no optimum: softmax at the lowest kappa is the linear rule."};
  return {std::move(table), by_length ? two_class_table(run, {o.simulation.dimension}, o.context_lengths.back())
                                      : two_class_table(run, o.dimensions, o.simulation.context_length)};
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
  return {std::move(table), std::move(losses)};
}

}  // namespace incontext::examples::classify
