#pragma once

#include <incontext/regression/bayes_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/linear_attention_error.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/regression/pretrained_attention.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/data_table.hpp"
#include "examples/support/judgement.hpp"
#include "examples/temperature/options.hpp"
#include "examples/temperature/simulator.hpp"

/// A pretrained attention that meets a task law, and the rows of a table that say how it fares there.
namespace incontext::examples {

using Attention = regression::Attention<double>;
using LinearTask = regression::LinearTask<double>;
using Parabola = regression::InverseTemperatureParabola<double>;
using Matrix = regression::Matrix<double>;
using Vector = regression::Vector<double>;

/// What the parts of a run share.
struct Run {
  const TemperatureOptions& options;
  Simulator& simulator;
  Judgement& judgement;
};

struct Situation {
  Attention attention;
  LinearTask task;
  std::int64_t context_length;
};

namespace detail {

inline Matrix read_covariance(const std::string& option, const std::string& file, std::optional<Eigen::Index> size) {
  Matrix covariance = read_matrix(file);
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

}  // namespace detail

/// The law the attention was pretrained on: centred inputs with covariance I or from a file, tasks with I / d or from a
/// file. A file sets the dimension where --dimension does not.
inline LinearTask training_task(const TemperatureOptions& o, bool dimension_given) {
  std::optional<Eigen::Index> size;
  if (dimension_given) size = o.simulation.dimension;
  Matrix inputs, tasks;
  if (!o.input_covariance.empty()) {
    inputs = detail::read_covariance("--input-covariance", o.input_covariance, size);
    size = inputs.rows();
  }
  if (!o.task_covariance.empty()) {
    tasks = detail::read_covariance("--task-covariance", o.task_covariance, size);
    size = tasks.rows();
  }
  const Eigen::Index d = size.value_or(o.simulation.dimension);
  if (inputs.size() == 0) inputs = Matrix::Identity(d, d);
  if (tasks.size() == 0) tasks = Matrix::Identity(d, d) / static_cast<double>(d);
  return LinearTask({Vector::Zero(d), inputs, Vector::Zero(d), tasks, o.noise_variance});
}

/// The mean of that length along (1, ..., 1).
inline Vector mean_of_length(double length, std::int64_t dimension) {
  return Vector::Constant(dimension, length / std::sqrt(static_cast<double>(dimension)));
}

/// The law at test time: the training law with every shift the options ask for.
inline LinearTask shifted(const LinearTask& training, const TemperatureOptions& o) {
  return training.with_input_covariance_scaled(o.input_scale)
      .with_task_covariance_scaled(o.task_scale)
      .with_noise_variance(o.has_test_noise ? o.test_noise_variance : training.noise_variance())
      .with_input_mean(mean_of_length(o.mean_shift, training.dimension()));
}

/// The error the theory column shows: exact for approximate softmax and linear attention; for softmax that of
/// approximate softmax, its first order.
inline Parabola error_beside(const Situation& at, const TemperatureOptions& o) {
  if (o.scoring != ScoringChoice::linear) {
    return regression::generalization_error(at.attention, at.task, at.context_length, o.convention);
  }
  if (o.convention.query == regression::QueryToken::included) {
    throw_input_error("--query", "has no exact theory with linear attention", "included", "excluded");
  }
  return regression::linear_attention_error(at.attention, at.task, at.context_length);
}

struct NamedTemperature {
  std::string name;
  double temperature;
};

/// A grid with 1 and the optimal temperature in it, in order, each named for what it is.
inline std::vector<NamedTemperature> named_temperatures(std::vector<double> grid, double optimal) {
  std::vector<NamedTemperature> result;
  for (const double temperature : grid) {
    if (temperature != 1) result.push_back({"attention", temperature});
  }
  result.push_back({"attention, τ = 1", 1});
  if (std::isfinite(optimal)) result.push_back({"attention, τ*", optimal});
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.temperature < b.temperature; });
  return result;
}

inline std::vector<double> values_of(const std::vector<NamedTemperature>& named) {
  std::vector<double> values;
  for (const NamedTemperature& one : named) values.push_back(one.temperature);
  return values;
}

/// `prefix` columns, then what predicts, at which temperature, and the comparison.
inline Table comparison_table(std::string title, std::vector<Column> prefix, bool exact = true) {
  Table table{.title = std::move(title), .columns = std::move(prefix)};
  table.columns.push_back({"predictor"});
  table.columns.push_back({.name = "temperature", .digits = 5});
  std::vector<Column> comparison = comparison_columns();
  if (!exact) {
    comparison[0].name = "approximate_theory";
    comparison[0].heading = "approximate";
  }
  table.columns.insert(table.columns.end(), comparison.begin(), comparison.end());
  return table;
}

/// Adds a row unless Ctrl-C left it without a simulation.
inline void add_row(Table& table, std::vector<Cell> prefix, const statistics::Estimate& estimate,
                    std::vector<Cell> comparison) {
  if (estimate.count < 2) return;
  prefix.insert(prefix.end(), std::make_move_iterator(comparison.begin()), std::make_move_iterator(comparison.end()));
  table.add_row(std::move(prefix));
}

/// One row a temperature, all simulated on the same draws. Softmax is shown beside the theory of approximate softmax,
/// which does not judge it.
inline void add_attention_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const Situation& at,
                               const std::vector<NamedTemperature>& named, const TemperatureOptions& how) {
  const bool judged = how.scoring != ScoringChoice::softmax;
  const Parabola theory = error_beside(at, how);
  const Estimates simulated = run.simulator.errors(at.attention, at.task, at.context_length, values_of(named), how);
  for (std::size_t i = 0; i < named.size(); ++i) {
    std::vector<Cell> cells = prefix;
    cells.insert(cells.end(), {named[i].name, named[i].temperature});
    if (simulated[i].count < 2) continue;
    add_row(table, std::move(cells), simulated[i],
            judged ? run.judgement.judged(theory(named[i].temperature), simulated[i])
                   : Judgement::unjudged(theory(named[i].temperature), simulated[i]));
  }
}

/// The ridge regression that knows the law, as the floor: its theory is a deterministic equivalent, not judged.
inline void add_bayes_row(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                          std::int64_t context_length) {
  if (!(task.noise_variance() > 0)) return;
  const auto equivalent = regression::bayes_risk_deterministic_equivalent(task, context_length);
  const auto simulated = run.simulator.bayes_risk(task, context_length);
  std::vector<Cell> cells = prefix;
  cells.insert(cells.end(), {"Bayes ridge", std::monostate{}});
  add_row(table, std::move(cells), simulated, Judgement::unjudged(equivalent.risk + equivalent.mean_excess, simulated));
}

inline constexpr const char* bayes_note =
    "Bayes ridge: its theory is a deterministic equivalent, off by order 1/d (6% where l = d = 20): no z.";

/// 5 significant digits, for a sentence.
inline std::string in_words(double value) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::general, 5)
                              : detail::non_finite_word(value);
}

inline std::string percent(double share) {
  return detail::number_text(100 * share, std::chars_format::general, 3) + "%";
}

/// What the optimal temperature is worth.
inline std::string gain_note(const std::string& law, const Parabola& error) {
  if (!error.has_optimal_temperature()) {
    return law + ": no positive temperature helps; the error falls to " + in_words(error.minimum()) + " as it grows.";
  }
  const double at_one = error(1.0), best = error.minimum();
  return law + ": τ* = " + in_words(error.optimal_temperature()) + "; error " + in_words(at_one) + " at τ = 1, " +
         in_words(best) + " at τ*, " + percent(error.excess(1.0) / at_one) + " less.";
}

}  // namespace incontext::examples
