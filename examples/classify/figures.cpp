#include "examples/classify/figures.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "examples/classify/theory.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples::classify {

const char* const closed_form_note =
    "Theory: closed forms for Gaussian noise of the context, which for the linear rule are off by at most 0.4/n of the "
    "loss and 0.6/n of the error rate; for the other rules their error is not known.";

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

Cell mean_cell(const statistics::Estimate& estimate) { return estimate.count > 1 ? Cell(estimate.mean) : Cell(); }

Cell error_cell(const statistics::Estimate& estimate) {
  return estimate.count > 1 ? Cell(estimate.standard_error) : Cell();
}

Column trials_column() { return {.name = "trials", .in_text = InText::hidden}; }

Table comparison_table(std::string title, std::vector<Column> columns) {
  for (Column& column : comparison_columns()) columns.push_back(std::move(column));
  return {.title = std::move(title), .columns = std::move(columns)};
}

void add_comparison(Table& table, ClassifyRun& run, std::vector<Cell> cells, const SphereTask& task,
                    const Chosen& chosen, ClassificationMetric metric, const statistics::Estimate& estimate) {
  const auto known = two_class_theory(task, chosen.classifier, metric);
  std::vector<Cell> comparison;
  if (!chosen.reached) {
    comparison = unreached_comparison();
  } else if (known && std::isfinite(known->error)) {
    comparison = run.judgment.judged({known->value, known->error}, estimate);
  } else {
    comparison = Judgment::shown(known ? std::optional<double>(known->value) : std::nullopt, estimate);
  }
  cells.insert(cells.end(), comparison.begin(), comparison.end());
  table.add_row(std::move(cells));
}

Table two_class_table(ClassifyRun& run, const std::vector<std::int64_t>& dimensions, std::int64_t context_length) {
  const std::int64_t n = context_length + context_length % 2;
  // More trials would resolve the error of the closed forms.
  const std::int64_t most_trials = std::max<std::int64_t>(2 * n * n, 128);
  Table table = comparison_table(
      "Check by theory: two classes, n = " + std::to_string(n),
      {{"d"}, {"rule"}, parameter_column("kappa", "kappa"), parameter_column("gain", "rate or c"), {"metric"}});
  for (const std::int64_t d : dimensions) {
    const SphereTask task{d, 2, n};
    Classifier softmax{ClassificationRule::adaptive_with_query, 1, 0};
    softmax.gain = predicted_gain(task, softmax);
    const std::vector<Chosen> rules{
        given(RuleChoice::linear, {ClassificationRule::linear, 0, two_class_best_rate(d, n).rate}),
        given(RuleChoice::adaptive_with_query, softmax)};
    const auto simulated =
        run.simulator.metrics("two classes", task, {rules[0].classifier, rules[1].classifier}, most_trials);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      for (const auto& [name, metric] :
           {std::pair{"loss", ClassificationMetric::loss}, {"accuracy", ClassificationMetric::accuracy}}) {
        add_comparison(table, run, {d, name_of(rules[i].choice), rules[i].kappa(), rules[i].gain(), std::string(name)},
                       task, rules[i], metric, simulated.at(i, metric));
      }
    }
  }
  table.notes = {closed_form_note};
  return table;
}

std::vector<Table> figure_tables(ClassifyRun& run) {
  switch (run.options.figure) {
    case ClassifyFigure::metrics:
      return metrics_figure(run);
    case ClassifyFigure::map:
      return map_figure(run);
    case ClassifyFigure::rules:
      return rules_figure(run);
    case ClassifyFigure::optima:
      return optima_figure(run);
    case ClassifyFigure::neighborhoods:
      return neighborhoods_figure(run);
    case ClassifyFigure::trend:
      return trend_figure(run);
    case ClassifyFigure::elimination:
      break;
  }
  return elimination_figure(run);
}

}  // namespace incontext::examples::classify
