#include "examples/temperature/data.hpp"

#include <incontext/regression/any_law_error.hpp>
#include <incontext/regression/centered_ridge.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/input_rows.hpp>
#include <incontext/regression/least_squares_task.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/regressable.hpp>
#include <incontext/regression/softmax_rows_error.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "examples/support/data_table.hpp"

namespace incontext::examples::temperature {

namespace {

/// The inputs that the options select, and the labels if there are any.
struct DataSet {
  std::vector<std::string> names;
  Matrix inputs;
  Vector labels;
  std::vector<std::string> notes = {};
};

/// The options that deal with rows and columns that cannot be used, for messages.
WaysOut ways_out(const TemperatureOptions& o) {
  return {.missing = ", or --drop-missing for the other rows",
          .marker = ", or --missing and --drop-missing where it stands for none",
          .text = o.columns.empty() ? "--without" : "--columns without"};
}

/// The input columns followed by the labels, so that rows are dropped from both.
Matrix read_columns(DataFile& file, const TemperatureOptions& o, std::vector<std::string> names,
                    std::vector<std::string>& notes) {
  if (!o.labels.empty()) names.push_back(o.labels);
  Matrix values = o.drop_missing ? file.complete_rows(names, ways_out(o)) : file.columns(names, ways_out(o));
  notes = file.notes();
  if (o.drop_missing) {
    notes.push_back("--drop-missing left out " + std::to_string(file.rows() - values.rows()) + " of " +
                    std::to_string(file.rows()) + " rows.");
  }
  return values;
}

void require_no_constant_column(const TemperatureOptions& o, const DataSet& data) {
  if (data.inputs.rows() < 2) return;  // refused elsewhere, for too few rows
  for (Eigen::Index j = 0; j < data.inputs.cols(); ++j) {
    const auto column = data.inputs.col(j);
    if (column.maxCoeff() > column.minCoeff()) continue;
    const std::string& name = data.names[static_cast<std::size_t>(j)];
    throw_input_error(o.data + ": column " + shown(name), "is constant", column(0),
                      "values that differ, or " + ways_out(o).text + " " + shown(name));
  }
}

DataSet read_data(const TemperatureOptions& o) {
  DataFile file(o.data, o.no_header ? Header::absent : Header::required, o.missing);
  DataSet data{.names = o.columns, .inputs = {}, .labels = {}};
  const auto is_one_of = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : o.columns) file.require_column("--columns", name);
  for (const std::string& name : o.without) file.require_column("--without", name);
  if (!o.labels.empty()) file.require_column("--labels", o.labels);
  if (data.names.empty()) {
    for (const std::string& name : file.column_names()) {
      if (name != o.labels && !is_one_of(o.without, name)) data.names.push_back(name);
    }
  }
  if (data.names.empty()) throw_input_error(o.data, "has no input columns left", 0, "at least one");
  if (is_one_of(data.names, o.labels))
    throw_input_error("--labels", "is an input column too", o.labels, "another column");
  const Matrix values = read_columns(file, o, data.names, data.notes);
  data.inputs = values.leftCols(static_cast<Eigen::Index>(data.names.size()));
  if (!o.labels.empty()) {
    data.labels = values.rightCols(1);
    if (!(data.labels.maxCoeff() > data.labels.minCoeff())) {
      throw_input_error(o.data + ": column " + o.labels, "is constant", data.labels(0), "labels that differ");
    }
  }
  require_no_constant_column(o, data);
  try {
    regression::require_regressable(data.inputs, data.names);
  } catch (const std::exception& error) {
    throw InputError(o.data + ": " + without_function(error.what()) + "; " + ways_out(o).text +
                     " NAME leaves a column out");
  }
  if (o.center) data.inputs = centered(data.inputs);
  if (o.standardize) {
    data.inputs = standardized(data.inputs);
    if (!o.labels.empty()) data.labels = standardized(data.labels);
  }
  return data;
}

/// A prior under which every input explains the same share of a label variance `explained`, whatever the input's unit.
Matrix even_prior(const Matrix& input_covariance, double explained) {
  const Vector scale =
      input_covariance.diagonal().cwiseInverse() * (explained / static_cast<double>(input_covariance.rows()));
  return scale.asDiagonal();
}

std::string data_title(const TemperatureOptions& o, const DataSet& data) {
  return o.data + ": " + std::to_string(data.inputs.rows()) + " rows, d = " + std::to_string(data.inputs.cols()) +
         (o.standardize ? " (standardized)"
          : o.center    ? " (centered)"
                        : "") +
         ", l = " + std::to_string(o.simulation.context_length) + ", " + scoring_in_words(o.reading.scoring);
}

/// Columns of both tables: the theory that is judged, another beside it, and how far that one is off in standard
/// errors.
Table data_table(std::string title, const std::string& judged, Column other, const std::string& other_z,
                 const std::string& z_heading) {
  Table table{.name = "rows",
              .title = std::move(title),
              .columns = {{"predictor"}, {.name = "temperature", .heading = "τ", .digits = 5}}};
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  table.columns[2].heading = judged;
  other.decimals_as = 1;
  other.in_text = InText::audit;
  table.columns.insert(table.columns.begin() + 3, std::move(other));
  table.columns.push_back(
      {.name = other_z, .heading = z_heading, .style = Style::two_decimals, .in_text = InText::audit});
  return table;
}

/// A row of such a table: the predictor, its comparison, and the other theory's value and z.
void add_row_beside(Table& table, std::vector<Cell> cells, std::vector<Cell> comparison, Cell other, Cell other_z) {
  cells.push_back(std::move(comparison.front()));
  cells.push_back(std::move(other));
  cells.insert(cells.end(), comparison.begin() + 1, comparison.end());
  cells.push_back(std::move(other_z));
  table.add_row(std::move(cells));
}

void add_data_rows(Table& table, Run& run, const std::vector<NamedTemperature>& named, const ErrorTheory& theory,
                   const Estimates& simulated) {
  std::size_t next = 0;
  for (const NamedTemperature& one : named) {
    if (!std::isfinite(one.temperature)) {
      add_row_beside(table, {one.name, Cell()},
                     run.judgment.not_judged(one.temperature, {}, no_optimum_reason(theory.limit)), Cell(), Cell());
      continue;
    }
    const statistics::Estimate& estimate = simulated[next++];
    const statistics::Theory beside(theory.beside(one.temperature));
    const double z = statistics::agree(beside, estimate).z;
    std::vector<Cell> comparison =
        theory.exact ? run.judgment.judged(theory.exact(one.temperature), estimate) : Judgment::shown({}, estimate);
    add_row_beside(table, {one.name, one.temperature}, std::move(comparison), beside.value,
                   std::isfinite(z) ? Cell(z) : Cell());
  }
}

void add_ridge_row(Table& table, const std::string& name, const statistics::Estimate& simulated) {
  add_row_beside(table, {name, Cell()}, Judgment::shown({}, simulated), Cell(), Cell());
}

/// A wrong theory as a control, at the temperature where it is farthest from the exact one.
void add_data_control(Run& run, const std::string& statement, const std::vector<NamedTemperature>& named,
                      const ErrorTheory& theory, const std::function<double(double)>& wrong,
                      const Estimates& simulated) {
  constexpr std::int64_t fewest_trials = 1000;  // of fewer, the mean may miss an outlier
  if (!theory.exact || simulated.empty()) return;
  if (simulated.front().count > 0 && simulated.front().count < fewest_trials) return;
  const std::vector<double> temperatures = values_of(named);
  std::size_t farthest = 0;
  double off = 0;
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    const double here = std::abs(wrong(temperatures[i]) / theory.exact(temperatures[i]).value - 1);
    if (!(here > off)) continue;
    farthest = i;
    off = here;
  }
  if (!(off > 0)) return;
  const double t = temperatures[farthest];
  run.controls.add({statement, "τ = " + in_words(t)}, wrong(t), theory.exact(t).value, simulated[farthest]);
}

/// The statement that a context has half the examples that it has, and how many these are; at least 2.
std::int64_t shorter_length(std::int64_t context_length) { return std::max<std::int64_t>(2, context_length / 2); }
std::string shorter_words(std::int64_t context_length) {
  return "the error at l = " + std::to_string(shorter_length(context_length));
}

/// Adds a note if the means of raw columns are so large that they dominate the scores.
void warn_of_means(Table& table, const regression::InputRows<double>& rows) {
  const double largest = rows.mean().cwiseAbs2().cwiseQuotient(rows.covariance().diagonal()).maxCoeff();
  if (!(largest > 0.01)) return;
  table.notes.push_back("The inputs are not centered: a mean is " + in_words(std::sqrt(largest)) +
                        " deviations from 0, which the scores carry; --center or --standardize takes it off.");
}

/// The law that the attention was pretrained on, which the numbers depend on as much as on the data.
std::string pretraining_note(const TemperatureOptions& o, double explained, double noise) {
  const std::string prior =
      o.law.task_covariance.empty()
          ? "a prior under which every input explains the same share of a label variance of " + in_words(explained)
          : "the prior " + o.law.task_covariance;
  const bool approximate = o.reading.scoring == ScoringChoice::approximate_softmax;
  return "Pretrained on these inputs' covariance, with " + prior + ", and noise " + in_words(noise) + "." +
         (approximate ? " True softmax has another error and another τ*: --scoring softmax." : "");
}

using ExactError = std::function<statistics::Theory(double)>;
using OtherError = std::function<double(double)>;

bool is_softmax(const TemperatureOptions& o) { return o.reading.scoring == ScoringChoice::softmax; }

/// The exact error of softmax takes time that grows with the square of the number of rows.
bool few_enough(const Matrix& rows) { return rows.rows() <= 2000; }

constexpr const char* too_many_note =
    "The exact error of softmax is left out: with more than 2000 rows it takes longer than the simulation.";

std::string theory_in_words(const ErrorTheory& theory) {
  return theory.exact ? "Exact theory" : "The theory beside it";
}

/// Inputs from the rows; tasks and noise from the law.
std::vector<Table> law_on_rows(Run& run, const DataSet& data) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const auto d = data.inputs.cols();
  const regression::InputRows<double> training_rows(data.inputs);
  const Matrix prior = o.law.task_covariance.empty() ? even_prior(training_rows.covariance(), 1)
                                                     : read_covariance("--task-covariance", o.law.task_covariance, d);
  const LinearTask training(
      {training_rows.mean(), training_rows.covariance(), Vector::Zero(d), prior, o.law.noise_variance});
  const Attention attention = regression::pretrained_attention(training, l);

  const Matrix rows = data.inputs * std::sqrt(o.law.input_scale);
  const regression::InputRows<double> test_rows(rows);
  const double noise = o.law.has_test_noise ? o.law.test_noise_variance : o.law.noise_variance;
  const LinearTask gaussian(
      {test_rows.mean(), test_rows.covariance(), Vector::Zero(d), prior * o.law.task_scale, noise});
  const regression::Offset offset = o.reading.convention.offset;
  const Parabola exact = regression::any_law_error<double>(attention, test_rows, gaussian.task_mean(),
                                                           gaussian.task_covariance(), noise, l, offset);
  const Parabola normal = regression::generalization_error(attention, gaussian, l, {.offset = offset});
  ErrorTheory theory = parabola_theory(exact, normal);
  double gaussian_optimum = normal.optimal_temperature();
  if (is_softmax(o)) {
    const auto on_rows = [&](double t) {
      return statistics::Theory(regression::softmax_any_law_error<double>(
          attention, rows, gaussian.task_mean(), gaussian.task_covariance(), noise, l, scoring::Softmax<double>{t}));
    };
    const ErrorTheory of_gaussian = theory_of({attention, gaussian, l}, o.reading);
    theory = softmax_theory(
        few_enough(rows) ? ExactError(on_rows) : ExactError(), [&](double t) { return of_gaussian.exact(t).value; },
        exact, exact.constant);
    theory.beside = [of_gaussian](double t) { return of_gaussian.exact(t).value; };
    gaussian_optimum = of_gaussian.optimal;
  }

  Table table =
      data_table(data_title(o, data) + ", noise " + in_words(noise) + ", labels from the law" + unusual_in_words(o),
                 "exact theory", {.name = "gaussian_theory", .heading = "Gaussian"}, "gaussian_z", "z Gaussian");
  const auto named = named_temperatures(o.temperatures, theory);
  run.arguments["test-noise-variance"] = noise;
  const simulate::RowLabels labels{
      .task_mean = gaussian.task_mean(), .task_covariance = gaussian.task_covariance(), .noise_variance = noise};
  run.simulator.announce("resampled rows");
  const Estimates simulated = run.simulator.errors_on_rows(attention, rows, labels, l, values_of(named), o.reading);
  add_data_rows(table, run, named, theory, simulated);
  add_data_control(run, "the error of Gaussian inputs", named, theory, theory.beside, simulated);
  if (!is_softmax(o)) {
    const Parabola shorter = regression::any_law_error<double>(
        attention, test_rows, gaussian.task_mean(), gaussian.task_covariance(), noise, shorter_length(l), offset);
    add_data_control(
        run, shorter_words(l), named, theory, [&](double t) { return shorter(t); }, simulated);
  }
  if (noise > 0) {
    const Matrix& prior = gaussian.task_covariance();
    add_ridge_row(table, ridge_name, run.simulator.centered_ridge_risk_on_rows(rows, prior, noise, l));
    add_ridge_row(table, "posterior mean", run.simulator.posterior_risk_on_rows(rows, prior, noise, l));
  }
  warn_of_means(table, test_rows);
  if (o.columns.empty()) {
    table.notes.push_back("Every column" + std::string(o.without.empty() ? "" : " but those of --without") +
                          " is an input. If one is the outcome, --labels NAME takes it for the labels.");
  }
  table.notes.push_back(pretraining_note(o, 1, o.law.noise_variance));
  table.notes.push_back(gain_note(theory_in_words(theory) + " for these rows", theory));
  if (!theory.exact) table.notes.push_back(too_many_note);
  table.notes.push_back(
      "Gaussian inputs of the same mean and covariance would have τ* = " + in_words(gaussian_optimum) + ".");
  table.audit_notes.push_back("z Gaussian says how far the theory of such inputs is off here (not judged).");
  table.draw_notes.push_back(common_draws_note);
  return {std::move(table)};
}

/// Ridge regression with the attention's own prior on labeled contexts; every row is its query in turn, so that only
/// contexts are drawn.
statistics::Estimate ridge_on_labeled_rows(Run& run, const Matrix& rows, const Vector& labels, const Matrix& prior,
                                           double noise_variance) {
  constexpr std::int64_t contexts = 1024;
  const std::int64_t context_length = run.options.simulation.context_length;
  std::mt19937_64 draw(run.simulator.seed());
  Matrix inputs(context_length, rows.cols());
  Vector context_labels(context_length);
  std::vector<double> errors;
  for (std::int64_t i = 0; i < contexts && !run.simulator.stopped(); ++i) {
    for (Eigen::Index j = 0; j < context_length; ++j) {
      const auto row = static_cast<Eigen::Index>(draw() % static_cast<std::uint64_t>(rows.rows()));
      inputs.row(j) = rows.row(row);
      context_labels(j) = labels(row);
    }
    const Vector slope =
        regression::centered_ridge<double>(inputs, context_labels, Vector::Zero(rows.cols()), prior, noise_variance)
            .mean;
    const double intercept = context_labels.mean() - inputs.colwise().mean().dot(slope);
    const Vector residuals = labels - rows * slope;
    errors.push_back((residuals.array() - intercept).square().mean());
  }
  const auto drawn = static_cast<std::int64_t>(errors.size());
  run.simulator.count(drawn, contexts);
  return statistics::Estimate(statistics::moments_of(errors.data(), drawn));
}

/// Inputs and labels from the rows; the least-squares line takes the place of the task.
std::vector<Table> labels_on_rows(Run& run, const DataSet& data) {
  const TemperatureOptions& o = run.options;
  const std::int64_t l = o.simulation.context_length;
  const auto d = data.inputs.cols();
  const regression::InputRows<double> law(data.inputs);
  const auto line = regression::least_squares_task(data.inputs, data.labels, data.names);
  // Without its intercept the least-squares line is a task of the theory, whatever the convention about the offset.
  const Vector labels = data.labels.array() - line.intercept;
  const double explained = line.slope.dot(law.covariance() * line.slope);
  const double noise = o.law.has_noise ? o.law.noise_variance : line.residual_variance;
  const Matrix prior = o.law.task_covariance.empty() ? even_prior(law.covariance(), explained)
                                                     : read_covariance("--task-covariance", o.law.task_covariance, d);
  const Attention attention =
      regression::pretrained_attention(LinearTask({law.mean(), law.covariance(), Vector::Zero(d), prior, noise}), l);

  const Matrix& rows = data.inputs;
  const regression::Offset offset = o.reading.convention.offset;
  const Parabola exact = regression::labeled_rows_error<double>(attention, law, labels, l, offset);
  const Parabola by_line = regression::any_law_error<double>(attention, law, line.slope, Matrix::Zero(d, d),
                                                             line.residual_variance, l, offset);
  ErrorTheory theory = parabola_theory(exact, by_line);
  if (is_softmax(o)) {
    const auto with_labels = [&](double t) {
      return statistics::Theory(
          regression::softmax_labeled_rows_error<double>(attention, rows, labels, l, scoring::Softmax<double>{t}));
    };
    const auto with_line = [&](double t) {
      return regression::softmax_any_law_error<double>(attention, rows, line.slope, Matrix::Zero(d, d),
                                                       line.residual_variance, l, scoring::Softmax<double>{t})
          .value;
    };
    const bool few = few_enough(rows);
    theory = softmax_theory(few ? ExactError(with_labels) : ExactError(),
                            few ? OtherError(with_line) : OtherError([by_line](double t) { return by_line(t); }), exact,
                            exact.constant);
  }
  Table table =
      data_table(data_title(o, data) + ", labels from column " + o.labels + unusual_in_words(o), "exact theory",
                 {.name = "least_squares_theory", .heading = "least squares"}, "least_squares_z", "z least sq.");
  const auto named = named_temperatures(o.temperatures, theory);
  run.arguments["noise-variance"] = noise;
  run.simulator.announce("resampled rows");
  const Estimates simulated =
      run.simulator.errors_on_rows(attention, rows, {.labels = labels}, l, values_of(named), o.reading);
  add_data_rows(table, run, named, theory, simulated);
  add_data_control(run, "residuals are noise independent of the inputs", named, theory, theory.beside, simulated);
  if (!is_softmax(o)) {
    const Parabola shorter = regression::labeled_rows_error<double>(attention, law, labels, shorter_length(l), offset);
    add_data_control(
        run, shorter_words(l), named, theory, [&](double t) { return shorter(t); }, simulated);
  }
  add_ridge_row(table, "ridge, same prior", ridge_on_labeled_rows(run, rows, labels, prior, noise));
  warn_of_means(table, law);
  table.notes.push_back(pretraining_note(o, explained, noise));
  table.notes.push_back(gain_note(theory_in_words(theory) + " for these rows and labels", theory));
  if (!theory.exact) table.notes.push_back(too_many_note);
  if (theory.exact) {
    double off = 0;
    for (const double temperature : values_of(named)) {
      off = std::max(off, std::abs(theory.beside(temperature) / theory.exact(temperature).value - 1));
    }
    table.audit_notes.push_back(
        "The least-squares theory takes the residuals for noise independent of the inputs. That does not hold exactly: "
        "it is off by up to " +
        percent(off) + " here" +
        (is_softmax(o) ? std::string() : ", and its τ* is " + in_words(by_line.optimal_temperature())) +
        ". The exact theory assumes nothing about the labels.");
  }
  table.notes.push_back("For scale: the mean label has error " + in_words(explained + line.residual_variance) +
                        ", the least-squares line of all rows " + in_words(line.residual_variance) + ".");
  table.draw_notes.push_back(common_draws_note);
  return {std::move(table)};
}

}  // namespace

std::vector<Table> data_tables(Run& run) {
  const DataSet data = read_data(run.options);
  run.arguments["dimension"] = data.inputs.cols();
  std::vector<Table> tables = run.options.labels.empty() ? law_on_rows(run, data) : labels_on_rows(run, data);
  tables.front().notes.insert(tables.front().notes.begin(), data.notes.begin(), data.notes.end());
  return tables;
}

}  // namespace incontext::examples::temperature
