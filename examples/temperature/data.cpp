#include "examples/temperature/data.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "examples/support/closed_forms.hpp"
#include "examples/support/data_table.hpp"
#include "examples/temperature/sweep.hpp"

namespace incontext::examples {

namespace {

/// The inputs as asked for, and the labels if there are any.
struct DataSet {
  std::vector<std::string> names;
  Matrix inputs;
  Vector labels;
};

DataSet read_data(const TemperatureOptions& o) {
  const DataFile file(o.data);
  DataSet data{.names = o.columns, .inputs = {}, .labels = {}};
  const auto is_one_of = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : o.without) {
    if (!is_one_of(file.column_names(), name))
      throw_input_error("--without", "is no column of " + o.data, name, "a column's name");
  }
  if (data.names.empty()) {
    for (const std::string& name : file.column_names()) {
      if (name != o.labels && !is_one_of(o.without, name)) data.names.push_back(name);
    }
  }
  if (data.names.empty()) throw_input_error(o.data, "has no input columns left", 0, "at least one");
  if (is_one_of(data.names, o.labels))
    throw_input_error("--labels", "is an input column too", o.labels, "another column");
  data.inputs = file.columns(data.names);
  if (!o.labels.empty()) {
    data.labels = file.columns({o.labels}).col(0);
    if (!(data.labels.maxCoeff() > data.labels.minCoeff())) {
      throw_input_error(o.data + ": column " + o.labels, "is constant", data.labels(0), "labels that differ");
    }
  }
  try {
    regression::require_regressable(data.inputs, data.names);
  } catch (const std::exception& error) {
    throw InputError(o.data + ": " + error.what());
  }
  if (o.centre) data.inputs = centred(data.inputs);
  if (o.standardise) {
    data.inputs = standardised(data.inputs);
    if (!o.labels.empty()) data.labels = standardised(data.labels);
  }
  return data;
}

/// A prior under which every input explains the same share of a label variance `signal`, whatever its unit.
Matrix even_prior(const Matrix& input_covariance, double signal) {
  const Vector scale =
      input_covariance.diagonal().cwiseInverse() * (signal / static_cast<double>(input_covariance.rows()));
  return scale.asDiagonal();
}

std::string data_title(const TemperatureOptions& o, const DataSet& data) {
  return o.data + ": " + std::to_string(data.inputs.rows()) + " rows, d = " + std::to_string(data.inputs.cols()) +
         (o.standardise ? " (standardised)"
          : o.centre    ? " (centred)"
                        : "") +
         ", l = " + std::to_string(o.simulation.context_length);
}

/// Columns of both tables: the theory that is judged, another beside it, and how far that one is off in standard
/// errors.
Table data_table(std::string title, const std::string& judged, Column other, const std::string& other_z,
                 const std::string& z_heading) {
  Table table{.title = std::move(title),
              .columns = {{"predictor"}, {.name = "temperature", .heading = "τ", .digits = 5}}};
  std::vector<Column> columns = comparison_columns();
  columns[0].heading = judged;
  other.decimals_as = 1;
  table.columns.push_back(columns[0]);
  table.columns.push_back(std::move(other));
  table.columns.insert(table.columns.end(), columns.begin() + 1, columns.end());
  table.columns.push_back({.name = other_z, .heading = z_heading, .style = Style::two_decimals});
  return table;
}

void add_data_row(Table& table, Run& run, const NamedTemperature& named, const Parabola& exact, const Parabola& other,
                  const statistics::Estimate& simulated) {
  if (simulated.count < 2) return;
  std::vector<Cell> cells = run.judgement.judged(exact(named.temperature), simulated);
  const double beside = other(named.temperature);
  table.add_row({named.name, named.temperature, cells[0], beside, cells[1], cells[2], cells[3],
                 statistics::agree(beside, simulated).z});
}

void add_ridge_row(Table& table, const std::string& name, const statistics::Estimate& simulated) {
  if (simulated.count < 2) return;
  const std::monostate none;
  table.add_row({name, none, none, none, simulated.mean, simulated.standard_error, none, none});
}

/// Says so where the means of raw columns swamp what the attention should read.
void warn_of_means(Table& table, const regression::InputRows<double>& rows) {
  const double largest = rows.mean().cwiseAbs2().cwiseQuotient(rows.covariance().diagonal()).maxCoeff();
  if (!(largest > 0.01)) return;
  table.notes.push_back("The inputs are not centred: a mean is " + in_words(std::sqrt(largest)) +
                        " deviations from 0, which the scores carry; --centre or --standardise takes it off.");
}

/// Inputs from the rows; tasks and noise from the law.
std::vector<Table> law_on_rows(Run& run, const DataSet& data) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const auto d = data.inputs.cols();
  const regression::InputRows<double> training_rows(data.inputs);
  const Matrix prior = o.task_covariance.empty() ? even_prior(training_rows.covariance(), 1)
                                                 : read_covariance("--task-covariance", o.task_covariance, d);
  const LinearTask training(
      {training_rows.mean(), training_rows.covariance(), Vector::Zero(d), prior, o.noise_variance});
  const Attention attention = regression::pretrained_attention(training, l);

  const Matrix rows = data.inputs * std::sqrt(o.input_scale);
  const regression::InputRows<double> test_rows(rows);
  const double noise = o.has_test_noise ? o.test_noise_variance : o.noise_variance;
  const LinearTask gaussian({test_rows.mean(), test_rows.covariance(), Vector::Zero(d), prior * o.task_scale, noise});
  const Parabola exact = regression::any_law_error<double>(
      attention, test_rows, gaussian.task_mean(), gaussian.task_covariance(), noise, l, o.reading.convention.offset);
  const Parabola normal =
      regression::generalization_error(attention, gaussian, l, {.offset = o.reading.convention.offset});

  Table table = data_table(data_title(o, data) + ", noise " + in_words(noise) + ", labels from the law", "exact theory",
                           {.name = "gaussian_theory", .heading = "Gaussian"}, "gaussian_z", "z Gaussian");
  const auto named =
      named_temperatures(o.temperatures.empty() ? usual_temperatures() : o.temperatures, exact.optimal_temperature());
  const LabelsOfRows labels{.task_mean = gaussian.task_mean(),
                            .task_covariance = gaussian.task_covariance(),
                            .noise_variance = noise,
                            .own = {}};
  run.simulator.announce("resampled rows");
  const Estimates simulated =
      run.simulator.errors_on_rows(attention, rows, labels, l, values_of(named), o.reading.convention.offset);
  for (std::size_t i = 0; i < named.size(); ++i) add_data_row(table, run, named[i], exact, normal, simulated[i]);
  if (noise > 0) {
    add_ridge_row(table, "Bayes ridge", run.simulator.bayes_risk_on_rows(rows, gaussian.task_covariance(), noise, l));
  }
  warn_of_means(table, test_rows);
  table.notes.push_back(gain_note("Exact theory for these rows", exact));
  table.notes.push_back(
      "Gaussian inputs of the same mean and covariance would have τ* = " + in_words(normal.optimal_temperature()) +
      "; z Gaussian says how far that theory is off here (not judged).");
  return {std::move(table)};
}

/// Ridge regression with the attention's own prior on labelled contexts; every row is its query in turn, so that only
/// contexts are drawn.
statistics::Estimate ridge_on_labelled_rows(const Matrix& rows, const Vector& labels, const Matrix& prior,
                                            double noise_variance, std::int64_t context_length, std::int64_t contexts,
                                            const Simulator& simulator) {
  std::mt19937_64 draw(simulator.seed());
  Matrix inputs(context_length, rows.cols());
  Vector context_labels(context_length);
  std::vector<double> errors;
  for (std::int64_t i = 0; i < contexts && !simulator.stopped(); ++i) {
    for (Eigen::Index j = 0; j < context_length; ++j) {
      const auto row = static_cast<Eigen::Index>(draw() % static_cast<std::uint64_t>(rows.rows()));
      inputs.row(j) = rows.row(row);
      context_labels(j) = labels(row);
    }
    const Vector slope =
        regression::bayes_ridge<double>(inputs, context_labels, Vector::Zero(rows.cols()), prior, noise_variance).mean;
    const double intercept = context_labels.mean() - inputs.colwise().mean().dot(slope);
    const Vector residuals = labels - rows * slope;
    errors.push_back((residuals.array() - intercept).square().mean());
  }
  return statistics::Estimate(statistics::moments_of(errors.data(), static_cast<std::int64_t>(errors.size())));
}

/// Inputs and labels from the rows; the least-squares line stands in for the task.
std::vector<Table> labels_on_rows(Run& run, const DataSet& data) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const auto d = data.inputs.cols();
  const regression::InputRows<double> law(data.inputs);
  const auto line = regression::least_squares_task(data.inputs, data.labels, data.names);
  // Without its intercept the line is a task of the theory, whatever the convention about the offset.
  const Vector labels = data.labels.array() - line.intercept;
  const double explained = line.slope.dot(law.covariance() * line.slope);
  const double noise = o.has_noise ? o.noise_variance : line.residual_variance;
  const Matrix prior = o.task_covariance.empty() ? even_prior(law.covariance(), explained)
                                                 : read_covariance("--task-covariance", o.task_covariance, d);
  const Attention attention =
      regression::pretrained_attention(LinearTask({law.mean(), law.covariance(), Vector::Zero(d), prior, noise}), l);

  const Matrix rows = data.inputs;
  const Parabola exact =
      regression::labelled_rows_error<double>(attention, law, labels, l, o.reading.convention.offset);
  const Parabola by_line = regression::any_law_error<double>(attention, law, line.slope, Matrix::Zero(d, d),
                                                             line.residual_variance, l, o.reading.convention.offset);
  Table table =
      data_table(data_title(o, data) + ", labels from column " + o.labels, "exact theory",
                 {.name = "least_squares_theory", .heading = "least squares"}, "least_squares_z", "z least sq.");
  const auto named =
      named_temperatures(o.temperatures.empty() ? usual_temperatures() : o.temperatures, exact.optimal_temperature());
  run.simulator.announce("resampled rows");
  const Estimates simulated = run.simulator.errors_on_rows(
      attention, rows, {.task_mean = {}, .task_covariance = {}, .noise_variance = 0, .own = labels}, l,
      values_of(named), o.reading.convention.offset);
  for (std::size_t i = 0; i < named.size(); ++i) add_data_row(table, run, named[i], exact, by_line, simulated[i]);
  if (!run.simulator.stopped()) {
    add_ridge_row(table, "ridge, same prior",
                  ridge_on_labelled_rows(rows, labels, prior, noise, l, 1024, run.simulator));
  }
  warn_of_means(table, law);
  table.notes.push_back(gain_note("Exact theory for these rows and labels", exact));
  double off = 0;
  for (const NamedTemperature& one : named) {
    off = std::max(off, std::abs(by_line(one.temperature) / exact(one.temperature) - 1));
  }
  table.notes.push_back(
      "The least-squares theory takes the residuals for noise independent of the inputs. That does not hold exactly: "
      "it is off by up to " +
      percent(off) + " here, and its τ* is " + in_words(by_line.optimal_temperature()) +
      ". The exact theory assumes nothing about the labels.");
  table.notes.push_back("For scale: the mean label has error " + in_words(explained + line.residual_variance) +
                        ", the least-squares line of all rows " + in_words(line.residual_variance) + ".");
  return {std::move(table)};
}

}  // namespace

std::vector<Table> data_tables(Run& run) {
  const DataSet data = read_data(run.options);
  return run.options.labels.empty() ? law_on_rows(run, data) : labels_on_rows(run, data);
}

}  // namespace incontext::examples
