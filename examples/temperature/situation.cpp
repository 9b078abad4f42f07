#include "examples/temperature/situation.hpp"

#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "examples/support/closed_forms.hpp"
#include "examples/support/data_table.hpp"
#include "examples/support/render.hpp"

namespace incontext::examples::temperature {

Matrix read_covariance(const std::string& option, const std::string& file, std::optional<Eigen::Index> size) {
  Matrix covariance = read_matrix(file).values;
  if (covariance.rows() != covariance.cols()) {
    throw_input_error(option + " " + file, "is not square",
                      std::to_string(covariance.rows()) + " x " + std::to_string(covariance.cols()),
                      "as many rows as columns");
  }
  if (size && covariance.rows() != *size) {
    throw_input_error(option + " " + file, "has the wrong size", covariance.rows(), std::to_string(*size));
  }
  return covariance;
}

LinearTask training_task(const TemperatureOptions& o, bool dimension_given) {
  std::optional<Eigen::Index> size;
  if (dimension_given) size = o.simulation.dimension;
  Matrix inputs, tasks;
  if (!o.input_covariance.empty()) {
    inputs = read_covariance("--input-covariance", o.input_covariance, size);
    size = inputs.rows();
  }
  if (!o.task_covariance.empty()) {
    tasks = read_covariance("--task-covariance", o.task_covariance, size);
    size = tasks.rows();
  }
  const Eigen::Index d = size.value_or(o.simulation.dimension);
  if (inputs.size() == 0) inputs = Matrix::Identity(d, d);
  if (tasks.size() == 0) tasks = Matrix::Identity(d, d) / static_cast<double>(d);
  return LinearTask({Vector::Zero(d), inputs, Vector::Zero(d), tasks, o.noise_variance});
}

Vector mean_of_length(double length, std::int64_t dimension) {
  return Vector::Constant(dimension, length / std::sqrt(static_cast<double>(dimension)));
}

LinearTask shifted(const LinearTask& training, const TemperatureOptions& o) {
  return training.with_input_covariance_scaled(o.input_scale)
      .with_task_covariance_scaled(o.task_scale)
      .with_noise_variance(o.has_test_noise ? o.test_noise_variance : training.noise_variance())
      .with_input_mean(mean_of_length(o.mean_shift, training.dimension()));
}

Parabola error_beside(const Situation& at, const Reading& reading) {
  if (reading.scoring != ScoringChoice::linear) {
    return regression::generalization_error(at.attention, at.task, at.context_length, reading.convention);
  }
  if (reading.convention.query == regression::QueryToken::included) {
    throw_input_error("--query", "has no exact theory with linear attention", "included", "excluded");
  }
  return regression::linear_attention_error(at.attention, at.task, at.context_length);
}

std::vector<NamedTemperature> named_temperatures(std::vector<double> grid, double optimal) {
  std::vector<NamedTemperature> result;
  for (const double temperature : grid) {
    if (temperature != 1) result.push_back({"attention", temperature});
  }
  result.push_back({"attention, τ = 1", 1});
  result.push_back({"attention, τ*", std::isnan(optimal) ? std::numeric_limits<double>::infinity() : optimal});
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.temperature < b.temperature; });
  return result;
}

std::vector<double> values_of(const std::vector<NamedTemperature>& named) {
  std::vector<double> values;
  for (const NamedTemperature& one : named) {
    if (std::isfinite(one.temperature)) values.push_back(one.temperature);
  }
  return values;
}

std::string no_optimum_reason(const Parabola& error) {
  return "no positive temperature is optimal: the error falls to " + in_words(error.minimum()) + " as it grows";
}

statistics::Theory theory_at(const Parabola& error, double temperature) {
  const double terms = std::abs(error.constant) + 2 * std::abs(error.linear) / temperature +
                       std::abs(error.quadratic) / temperature / temperature;
  constexpr double each = 16 * std::numeric_limits<double>::epsilon();
  return {error(temperature), each * terms};
}

Table comparison_table(std::string title, std::vector<Column> prefix) {
  Table table{.title = std::move(title), .columns = std::move(prefix)};
  table.columns.push_back({"predictor"});
  table.columns.push_back({.name = "temperature", .digits = 5});
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  return table;
}

void add_row(Table& table, std::vector<Cell> prefix, std::vector<Cell> comparison) {
  prefix.insert(prefix.end(), std::make_move_iterator(comparison.begin()), std::make_move_iterator(comparison.end()));
  table.add_row(std::move(prefix));
}

void add_attention_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const Situation& at,
                        const std::vector<NamedTemperature>& named, const Reading& reading) {
  const bool judged = reading.scoring != ScoringChoice::softmax;
  const Parabola theory = error_beside(at, reading);
  const Estimates simulated = run.simulator.errors(at.attention, at.task, at.context_length, values_of(named), reading);
  std::size_t next = 0;
  for (const NamedTemperature& one : named) {
    std::vector<Cell> cells = prefix;
    const bool exists = std::isfinite(one.temperature);
    cells.insert(cells.end(), {one.name, exists ? Cell(one.temperature) : Cell()});
    if (!exists) {
      add_row(table, std::move(cells), run.judgment.not_judged(one.temperature, {}, no_optimum_reason(theory)));
      continue;
    }
    const statistics::Estimate& estimate = simulated[next++];
    const statistics::Theory value = theory_at(theory, one.temperature);
    add_row(table, std::move(cells),
            judged ? run.judgment.judged(value, estimate) : Judgment::shown(value.value, estimate));
  }
}

void add_bayes_row(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                   std::int64_t context_length) {
  if (!(task.noise_variance() > 0)) return;
  const auto equivalent = regression::bayes_risk_deterministic_equivalent(task, context_length);
  const auto simulated = run.simulator.bayes_risk(task, context_length);
  std::vector<Cell> cells = prefix;
  cells.insert(cells.end(), {"Bayes ridge", std::monostate{}});
  add_row(table, std::move(cells), Judgment::shown(equivalent.risk + equivalent.mean_excess, simulated));
}

std::string unusual_in_words(const TemperatureOptions& o) {
  std::string words;
  const auto add = [&words](bool unusual, const std::string& what) { words += unusual ? ", " + what : ""; };
  add(!o.input_covariance.empty(), "inputs' covariance " + o.input_covariance);
  add(!o.task_covariance.empty(), "tasks' covariance " + o.task_covariance);
  add(o.input_scale != 1, "inputs' covariance times " + in_words(o.input_scale));
  add(o.task_scale != 1, "tasks' covariance times " + in_words(o.task_scale));
  add(o.mean_shift != 0, "inputs' mean of length " + in_words(o.mean_shift));
  add(o.reading.convention.query == regression::QueryToken::included, "query included");
  add(o.reading.convention.offset == regression::Offset::removed, "offset removed");
  add(o.reading.estimator == simulate::Estimator::conditional, "conditional trials");
  add(o.reading.estimator == simulate::Estimator::sufficient_statistics, "sufficient-statistics trials");
  return words;
}

std::string in_words(double value) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::general, 5)
                              : detail::non_finite_word(value);
}

std::string percent(double share) { return detail::number_text(100 * share, std::chars_format::general, 3) + "%"; }

std::string gain_note(const std::string& law, const Parabola& error) {
  if (!error.has_optimal_temperature()) {
    return law + ": no positive temperature helps; the error falls to " + in_words(error.minimum()) + " as it grows.";
  }
  const double at_one = error(1.0), best = error.minimum();
  return law + ": τ* = " + in_words(error.optimal_temperature()) + "; error " + in_words(at_one) + " at τ = 1, " +
         in_words(best) + " at τ*, " + percent(error.excess(1.0) / at_one) + " less.";
}

}  // namespace incontext::examples::temperature
