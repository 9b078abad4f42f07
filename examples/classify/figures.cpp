#include "examples/classify/figures.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>
#include <variant>

#include "examples/classify/theory.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples {

const char* const closed_form_note =
    "Theory: closed forms for Gaussian noise of the context. Judged is the linear rule, where the simulation's error "
    "is "
    "larger than what the noise lacks to a Gaussian: 0.4/n of the loss, 0.6/n of the wrong.";

std::string in_words(double value, int digits) {
  return detail::number_text(value, std::chars_format::general, digits);
}

std::string in_words(const SphereTask& task) {
  return "d = " + std::to_string(task.dimension) + ", k = " + std::to_string(task.classes) +
         " classes, n = " + std::to_string(task.context_length);
}

Column parameter_column(const std::string& name, const std::string& heading) {
  return {.name = name, .heading = heading, .digits = 4, .style = Style::shortest};
}

Table comparison_table(std::string title, std::vector<Column> columns) {
  for (Column& column : comparison_columns()) columns.push_back(std::move(column));
  return {.title = std::move(title), .columns = std::move(columns)};
}

void add_comparison(Table& table, ClassifyRun& run, std::vector<Cell> cells, const SphereTask& task,
                    const Classifier& classifier, Metric metric, const statistics::Estimate& estimate) {
  if (estimate.count < 2) return;
  const auto known = two_class_theory(task, classifier, metric);
  const bool judged = known && known->error <= estimate.standard_error;
  auto comparison =
      judged ? run.judgement.judged(known->value, estimate) : Judgement::unjudged(known ? known->value : 0, estimate);
  if (!known) comparison.front() = std::monostate{};
  cells.insert(cells.end(), comparison.begin(), comparison.end());
  table.add_row(std::move(cells));
}

Table two_class_table(ClassifyRun& run, const std::vector<std::int64_t>& dimensions, std::int64_t context_length) {
  const std::int64_t n = context_length + context_length % 2;
  Table table = comparison_table(
      "Check by theory: two classes, n = " + std::to_string(n),
      {{"d"}, {"rule"}, parameter_column("kappa", "kappa"), parameter_column("gain", "rate or c"), {"metric"}});
  for (const std::int64_t d : dimensions) {
    if (run.simulator.stopped()) break;
    const SphereTask task{d, 2, n};
    Classifier softmax{Rule::adaptive_with_query, 1, 0};
    softmax.gain = predicted_gain(task, softmax);
    const std::vector<std::pair<RuleChoice, Classifier>> rules{
        {RuleChoice::linear, {Rule::linear, 0, two_class_best_rate(d, n).rate}},
        {RuleChoice::adaptive_with_query, softmax}};
    const auto simulated = run.simulator.metrics("two classes", task, {rules[0].second, rules[1].second});
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const Classifier& at = rules[i].second;
      for (const auto& [name, metric] : {std::pair{"loss", Metric::loss}, {"accuracy", Metric::accuracy}}) {
        add_comparison(
            table, run,
            {d, name_of(rules[i].first), at.rule == Rule::linear ? Cell() : Cell(at.kappa), at.gain, std::string(name)},
            task, at, metric, simulated[i][metric]);
      }
    }
  }
  table.notes = {closed_form_note};
  return table;
}

namespace {

std::vector<Table> tables_of(ClassifyRun& run) {
  switch (run.options.figure) {
    case ClassifyFigure::metrics:
      return metrics_figure(run);
    case ClassifyFigure::map:
      return map_figure(run);
    case ClassifyFigure::rules:
      return rules_figure(run);
    case ClassifyFigure::optima:
      return optima_figure(run);
    case ClassifyFigure::neighbourhoods:
      return neighbourhoods_figure(run);
    case ClassifyFigure::trend:
      return trend_figure(run);
    case ClassifyFigure::elimination:
      break;
  }
  return elimination_figure(run);
}

/// Where no row has a theory, the simulation sets the decimals.
void set_decimals(Table& table) {
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (table.columns[j].name != "theory") continue;
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(), [j](const std::vector<Cell>& row) {
      return std::holds_alternative<std::monostate>(row[j]);
    });
    if (is_empty) table.columns[j].decimals_as = 0;
  }
}

}  // namespace

std::vector<Table> figure_tables(ClassifyRun& run) {
  std::vector<Table> tables = tables_of(run);
  for (Table& table : tables) set_decimals(table);
  return tables;
}

}  // namespace incontext::examples
