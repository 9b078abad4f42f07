#include "examples/classify/figures.hpp"

#include <incontext/statistics/moments.hpp>

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
    "loss and 0.6/n of the error rate; those of the other rules are approximations, not judged, and absent where they "
    "may be off by more than 5%.";

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

statistics::Estimate estimate_of(const std::vector<double>& values) {
  return statistics::Estimate(statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size())));
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
  table.add_row(std::move(cells), comparison);
}

std::vector<Table> figure_tables(ClassifyRun& run) {
  switch (run.options.figure) {
    case ClassifyFigure::metrics:
      return metrics_figure(run);
    case ClassifyFigure::laws:
      return laws_figure(run);
    case ClassifyFigure::linear_alignment:
    case ClassifyFigure::softmax_alignment:
      return alignment_figure(run);
    case ClassifyFigure::boundaries:
      return boundaries_figure(run);
    case ClassifyFigure::lengths:
      return lengths_figure(run);
    case ClassifyFigure::variation:
      return variation_figure(run);
    case ClassifyFigure::neighborhoods:
      return neighborhoods_figure(run);
    case ClassifyFigure::optima:
      return optima_figure(run);
    case ClassifyFigure::map:
      return map_figure(run);
    case ClassifyFigure::trend:
      return trend_figure(run);
    case ClassifyFigure::elimination:
      return elimination_figure(run);
    case ClassifyFigure::onset:
      break;
  }
  return onset_figure(run);
}

}  // namespace incontext::examples::classify
