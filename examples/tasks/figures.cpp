#include "examples/tasks/figures.hpp"

#include <incontext/training/affine_task.hpp>
#include <incontext/training/quantifier_task.hpp>
#include <incontext/training/reasoning_task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/support/boundary_fit.hpp"
#include "examples/support/render.hpp"
#include "examples/tasks/printed_tables.hpp"

namespace incontext::examples::tasks {

namespace {

using Estimates = std::vector<statistics::Estimate>;
using Affine = training::AffineTask<double>;

constexpr double metric = affine_metric;

template <class Answer>
const statistics::Estimate& at(const Estimates& estimates, Answer answer) {
  return estimates.at(static_cast<std::size_t>(answer));
}

Table comparison_table(std::string title, std::vector<Column> columns) {
  Table table{.title = std::move(title), .columns = std::move(columns)};
  table.key_columns = table.columns.size();
  for (Column& column : comparison_columns()) table.columns.push_back(std::move(column));
  return table;
}

void append(Table& table, std::vector<Cell> cells, const std::vector<Cell>& comparison) {
  table.add_row(std::move(cells), comparison);
}

void add(TaskRun& run, Table& table, std::vector<Cell> cells, const statistics::Theory& theory,
         const statistics::Estimate& estimate) {
  append(table, std::move(cells), run.judgment.judged(theory, estimate));
}

/// Adds the row of an event, which is judged only if it, and its complement too, is expected to occur often enough.
void add_event(TaskRun& run, Table& table, std::vector<Cell> cells, double probability,
               const statistics::Estimate& estimate) {
  const double events = static_cast<double>(estimate.count) * std::min(probability, 1 - probability);
  append(table, std::move(cells),
         run.judgment.judged_if_enough(probability, estimate, events, "too few events: increase --trials"));
}

/// The share of the trials that make the mean error after one example. Given the input x that error is
/// sigma_F^2 (1 + (sigma_I^2 - 1) w), w = 1/(1 + x^2): wide inputs have it from the few that are near 0. The share is
/// the square of its mean over its mean square, with E w^2 = (E w + (1 - E w)/sigma_I^2)/2 by parts.
double contributing_share(const Affine& task) {
  const double inputs = task.input_stddev * task.input_stddev, rise = inputs - 1;
  if (!(inputs > 1)) return 1;
  const double mean = training::mean_inverse_one_plus_square(task.input_stddev);
  const double square = (mean + (1 - mean) / inputs) / 2, all = 1 + rise * mean;
  return all * all / (1 + 2 * rise * mean + rise * rise * square);
}

// ---- baselines ----

Table affine_baselines(TaskRun& run) {
  const TaskOptions& o = run.options;
  const Affine task{o.input_stddev, o.function_stddev};
  const auto risks = training::affine_risks(task);
  const double bound = 2 * o.function_stddev, inputs = o.input_stddev * o.input_stddev;
  const Estimates seen = run.simulator.affine({o.input_stddev, o.function_stddev, o.input_stddev, bound});
  const std::string setting =
      "inputs N(0, " + short_text(o.input_stddev, 4) + "^2), a and b N(0, " + short_text(o.function_stddev, 4) + "^2)";
  Table table = comparison_table("Affine functions y = a x + b, mean squared errors: " + setting, {{"answer"}});
  add(run, table, {"0, without an example"}, risks.no_example, at(seen, AffineAnswer::no_example));
  const Estimates::value_type& one = at(seen, AffineAnswer::one_example);
  // squares of normal numbers in a small share of the trials: their mean needs 30 times as many as that of bounded ones
  const double share = contributing_share(task);
  const double contributing = share / (share + 30 * (1 - share)) * static_cast<double>(one.count);
  append(table, {"Bayes, one example"},
         run.judgment.judged_if_enough(risks.one_example, one, contributing,
                                       "rare inputs near 0 make the mean, so that its error is unknown: increase "
                                       "--trials, or lower --input-stddev"));
  add(run, table, {"0, in the paper's metric"}, risks.zero_predictor, at(seen, AffineAnswer::zero_metric));
  append(table, {"the truth clipped at B = 2 sigma_F, in that metric"},
         run.judgment.judged_by(
             [&] {
               const auto clipped = training::clipped_affine_error(task, bound);
               return statistics::Theory{metric * clipped.value, metric * clipped.error_estimate};
             },
             at(seen, AffineAnswer::clipped_metric)));
  table.notes = {"The metric sums the squared errors at points 3 to 40 and divides by 40. Two examples leave 0."};
  run.controls.add({"the metric's sum begins at k = 2, as the paper's text has it", "affine, the answer 0"},
                   risks.no_example * 39 / 40, risks.zero_predictor, at(seen, AffineAnswer::zero_metric));
  const double jensen = 1 / (1 + inputs), exact = training::mean_inverse_one_plus_square(o.input_stddev);
  const double wrong = o.function_stddev * o.function_stddev * (1 - jensen + inputs * jensen);
  const bool is_judged = fewest_effective_trials <= contributing;  // a mean of rare inputs rejects nothing
  if (is_judged && std::abs(inputs - 1) > 1e-3 && exact != jensen) {
    run.controls.add({"E 1/(1 + x^2) = 1/(1 + sigma_I^2)", "affine, one example"}, wrong, risks.one_example,
                     at(seen, AffineAnswer::one_example));
  }
  return table;
}

Table quantifier_baselines(TaskRun& run) {
  Table table = comparison_table("Quantifiers over the first i numbers", {{"i"}, {"what"}});
  for (const std::int64_t length : run.options.lengths) {
    const auto exact = training::quantifier_task(length);
    const Estimates seen = run.simulator.quantifier(length);
    const auto row = [&](const std::string& what, double probability, QuantifierAnswer answer) {
      add_event(run, table, {length, what}, probability, at(seen, answer));
    };
    row("all are positive", exact.every, QuantifierAnswer::every);
    row("some is positive", exact.some, QuantifierAnswer::some);
    if (length > 1) {
      row("the last sign is wrong about \"every\"", exact.last_sign_error, QuantifierAnswer::last_sign_error);
      row("the largest sign is wrong about \"every\"", exact.largest_sign_error, QuantifierAnswer::largest_sign_error);
    }
    add(run, table, {length, "\"no\" to \"every\", mean error"}, exact.constant_false_mean_error,
        at(seen, QuantifierAnswer::no_mean_error));
    if (length > 4) {  // at 4 it is the same event as that all are positive
      row("\"no\" to \"every\", wrong from the 4th on", exact.constant_false_sequence_error,
          QuantifierAnswer::no_sequence_error);
    }
    if (length < 4) continue;
    run.controls.add({"the largest sign is wrong unless all agree, 1 - 2^-i", "i = " + std::to_string(length)},
                     exact.some, exact.largest_sign_error, at(seen, QuantifierAnswer::largest_sign_error));
  }
  table.notes = {
      "Whatever the numbers' standard deviation. A model that sees the largest number alone, which deviant inputs "
      "lead to, has the error of the largest sign."};
  return table;
}

Table reasoning_baselines(TaskRun& run) {
  const auto exact = training::reasoning_task(run.options.largest_value);
  const Estimates seen = run.simulator.reasoning(run.options.largest_value, exact.parities_differ);
  Table table = comparison_table(
      "Reasoning: c if a and b differ in parity, else d, all from 0 to " + std::to_string(run.options.largest_value),
      {{"what"}});
  add_event(run, table, {"a and b differ in parity"}, exact.parities_differ,
            at(seen, ReasoningAnswer::parities_differ));
  add_event(run, table, {"right: a coin between c and d"}, exact.coin_accuracy, at(seen, ReasoningAnswer::coin));
  add_event(run, table, {"right: always c"}, exact.always_c_accuracy, at(seen, ReasoningAnswer::always_c));
  add_event(run, table, {"right: always d"}, exact.always_d_accuracy, at(seen, ReasoningAnswer::always_d));
  add(run, table, {"cross entropy of the plateau, nats"}, exact.plateau_cross_entropy,
      at(seen, ReasoningAnswer::plateau));
  const double blind = std::max(exact.always_c_accuracy, exact.always_d_accuracy);
  const ReasoningAnswer best =
      exact.always_c_accuracy < exact.always_d_accuracy ? ReasoningAnswer::always_d : ReasoningAnswer::always_c;
  if (blind > exact.coin_accuracy) {
    run.controls.add({"the best answer without the parities is a coin", "reasoning"}, exact.coin_accuracy, blind,
                     at(seen, best));
  }
  const double share = exact.parities_differ, entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  run.controls.add({"plateau h(P), as if c and d always differed", "reasoning"}, entropy, exact.plateau_cross_entropy,
                   at(seen, ReasoningAnswer::plateau));
  return table;
}

// ---- boundary ----

constexpr int first_fitted = 4, last_fitted = 10;

/// The fit to a printed row from function_stddev = 4 on.
template <class Model>
ShiftFit fitted(const PrintedRow& row, const Model& model) {
  std::vector<ShiftedError> errors;
  for (int sigma = first_fitted; sigma <= last_fitted; ++sigma) {
    errors.push_back({static_cast<double>(sigma), row.errors.at(static_cast<std::size_t>(sigma - 1))});
  }
  return fitted_to(errors, model);
}

/// The integral of the clip model beside answers that are clipped, and two ways to get it wrong.
Table clipped_answers(TaskRun& run, double bound) {
  Table table = comparison_table("The clip model at B = " + short_text(bound, 4) + " beside clipped answers",
                                 {{.name = "function_stddev", .heading = "σ", .style = Style::shortest}});
  for (const int sigma : {4, 7, 10}) {
    const auto seen = run.simulator.affine({1, static_cast<double>(sigma), 1, bound});
    const double exact = clipped_metric(bound, sigma);
    add(run, table, {static_cast<double>(sigma)}, exact, at(seen, AffineAnswer::clipped_metric));
    const std::string place = "σ = " + std::to_string(sigma);
    // one normal y of the mean variance 2 sigma^2 is a b = y with inputs of standard deviation 0
    const double normal = metric * training::clipped_affine_error(Affine{0, std::sqrt(2.0) * sigma}, bound).value;
    run.controls.add({"clip model with normal labels of the same variance", place}, normal, exact,
                     at(seen, AffineAnswer::clipped_metric));
    run.controls.add({"clip model without the metric's 38/40", place}, exact / metric, exact,
                     at(seen, AffineAnswer::clipped_metric));
  }
  return table;
}

std::vector<Table> boundary_figure(TaskRun& run) {
  Table fits{.title = "Printed errors of trained models beside the truth clipped to [-B, B], fitted for σ = 4 to 10",
             .columns = {{"table"},
                         {"model"},
                         {.name = "bound", .heading = "B", .digits = 4},
                         {.name = "bound_error", .heading = "± error", .digits = 2},
                         {.name = "residual", .heading = "residual of the log", .digits = 3},
                         {.name = "least_ratio", .heading = "model/paper from", .digits = 3},
                         {.name = "largest_ratio", .heading = "to", .digits = 3},
                         {.name = "within", .heading = "within 40%"},
                         {.name = "proportional_residual", .heading = "residual of c σ²", .digits = 3}}};
  Table bounds{.title = "The bound B that each printed error asks for", .columns = {{"table"}, {"model"}}};
  for (int s = 3; s <= last_fitted; ++s) {
    const std::string name = std::to_string(s);
    bounds.columns.push_back({.name = "bound_at_" + name, .heading = "σ = " + name, .digits = 4, .decimals_as = 1});
  }
  double softmax_bound = 0;
  std::string outside;
  for (const PrintedRow& row : printed_rows()) {
    const ShiftFit fit = fitted(row, clipped_metric), proportional = fitted(row, shrunk_metric);
    const auto [least, largest] = std::minmax_element(fit.ratios.begin(), fit.ratios.end());
    const bool within = *least > 0.6 && *largest < 1.4;
    if (!within) outside += (outside.empty() ? "" : ", ") + row.model;
    if (row.model == "Softmax") softmax_bound = fit.parameter;
    fits.add_row({row.table, row.model, fit.parameter, fit.error, fit.residual, *least, *largest,
                  std::string(within ? "yes" : "no"), proportional.residual});
    std::vector<Cell> cells{row.table, row.model};
    for (int s = 3; s <= last_fitted; ++s) {
      const double error = row.errors.at(static_cast<std::size_t>(s - 1));
      cells.emplace_back(training::clipped_answer_bound(Affine{1, static_cast<double>(s)}, error / metric));
    }
    bounds.add_row(std::move(cells));
  }
  fits.notes = {
      "Least squares of the logarithms. ± error: of B, from the residuals. Within 40%: model/paper from 0.6 to 1.4; "
      "not: " +
          outside + ".",
      "c σ² is what a model errs that answers a fixed part of the truth: no bound, and no better fit where "
      "its residual "
      "is larger.",
      "Table 1's \"Softmax\" and Table 4's \"12L8AH\" should be one model."};
  bounds.notes = {
      "A hard clip would give one number per row. From σ = 7 on most fall: answers do not end at one bound."};
  return {std::move(fits), std::move(bounds), clipped_answers(run, softmax_bound)};
}

// ---- deviant ----

std::vector<Table> deviant_figure(TaskRun& run) {
  Table table = comparison_table(
      "One deviant first input: Bayes' answer from that example alone, inputs, a and b N(0, 1), the paper's metric",
      {{.name = "first_input_stddev", .heading = "its σ", .style = Style::shortest}});
  Table printed{.title = "Table 3 as printed (12L8AH) beside what needs no model",
                .columns = {{.name = "first_input_stddev", .heading = "its σ", .style = Style::shortest},
                            {.name = "paper", .digits = 3},
                            {.name = "all_examples", .digits = 3},
                            {.name = "deviant_alone", .digits = 3},
                            {.name = "no_example", .heading = "answer 0", .digits = 3},
                            {.name = "clipped", .heading = "clip model", .digits = 3},
                            {.name = "over_zero", .heading = "paper / answer 0", .digits = 3}}};
  double bound = 0;
  for (const PrintedRow& row : printed_rows()) {
    if (row.model == "12L8AH") bound = fitted(row, clipped_metric).parameter;
  }
  const auto risks = training::affine_risks(Affine{1, 1});
  const double alone = metric * risks.one_example, clipped = clipped_metric(bound, 1);
  for (const PrintedDeviant& one : printed_deviants()) {
    printed.add_row({one.first_input_stddev, one.error, 0.0, alone, risks.zero_predictor, clipped,
                     one.error / risks.zero_predictor});
  }
  printed.notes = {
      "Two other examples determine the function: the deviant one is needed by nobody, and harms nobody who can leave "
      "it out. From σ = 40 on the model is close to one that has seen nothing but it, from 80 on worse than one that "
      "answers 0.",
      "The clip model at 12L8AH's B = " + short_text(bound, 4) +
          " (--figure boundary) does not see the deviant input: "
          "what Table 3 shows is not a bound on the answers."};
  for (const double deviation : {1.0, 10.0, 100.0}) {
    const Estimates seen = run.simulator.affine({1, 1, deviation, bound});
    add(run, table, {deviation}, alone, at(seen, AffineAnswer::one_example_metric));
    const double e = training::mean_inverse_one_plus_square(deviation), wrong = metric * (1 - e + deviation * e);
    if (deviation > 1) {
      run.controls.add({"risk with the deviant's σ for the query's", "σ = " + short_text(deviation, 4)}, wrong, alone,
                       at(seen, AffineAnswer::one_example_metric));
    }
    run.controls.add({"the metric divides by the 38 points it sums", "σ = " + short_text(deviation, 4)},
                     risks.one_example, alone, at(seen, AffineAnswer::one_example_metric));
  }
  table.notes = {"For inputs of variance 1 it is 38/40, whatever the law of the first input."};
  return {std::move(printed), std::move(table)};
}

}  // namespace

std::vector<Table> figure_tables(TaskRun& run) {
  switch (run.options.figure) {
    case TaskFigure::boundary:
      return boundary_figure(run);
    case TaskFigure::deviant:
      return deviant_figure(run);
    case TaskFigure::baselines:
    case TaskFigure::printed:  // draws nothing, and is no part of a run
      break;
  }
  return {affine_baselines(run), quantifier_baselines(run), reasoning_baselines(run)};
}

}  // namespace incontext::examples::tasks
