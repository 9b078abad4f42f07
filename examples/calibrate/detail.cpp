#include <incontext/calibration/head_summary.hpp>

#include <cmath>
#include <string>

#include "examples/calibrate/tables.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::HeadDetail;
using calibration::Held;
using calibration::JudgedQuantity;
using calibration::LengthSummary;

std::string lengths_of(std::int64_t shortest, std::int64_t longest) {
  if (shortest == longest) return std::to_string(longest);
  return std::to_string(shortest) + " to " + std::to_string(longest);
}

std::string name_of(const HeadDetail& one) {
  return "Layer " + std::to_string(one.head.layer) + ", head " + std::to_string(one.head.head);
}

Table scores_by_length(const HeadDetail& one) {
  Table table{.name = "scores",
              .title = name_of(one) + ": the scores of a row, by its length",
              .columns = {{"row_lengths"},
                          {.name = "rows"},
                          {.name = "mean", .digits = 4, .decimals_as = 1},
                          {.name = "stddev_of_row_means", .heading = "sd of means", .digits = 3, .decimals_as = 1},
                          {.name = "score_stddev", .heading = "x", .digits = 4, .decimals_as = 2},
                          {.name = "score_stddev_error", .heading = "± error", .digits = 2, .decimals_as = 2},
                          {.name = "variance_differs_percent", .heading = "rows differ %", .digits = 2},
                          {.name = "skewness", .digits = 3, .decimals_as = 3},
                          {.name = "skewness_error", .heading = "± error", .digits = 2, .decimals_as = 3},
                          {.name = "excess_kurtosis", .heading = "kurtosis", .digits = 3, .decimals_as = 4},
                          {.name = "excess_kurtosis_error", .heading = "± error", .digits = 2, .decimals_as = 4},
                          {.name = "highest", .digits = 3},
                          {.name = "normality_p_value", .heading = "p normal", .digits = 2}}};
  for (const LengthSummary& rows : one.lengths) {
    table.add_row({lengths_of(rows.shortest_row, rows.longest_row), rows.rows, rows.mean, rows.stddev_of_row_means,
                   rows.score_stddev, number(rows.score_stddev_error), number(100 * rows.variance_differs),
                   rows.skewness, number(rows.skewness_error), rows.excess_kurtosis, number(rows.excess_kurtosis_error),
                   rows.highest, number(rows.normality_p_value)});
  }
  table.notes = {
      "Skewness and kurtosis are means over rows of each row's own; the kurtosis is that above a normal row's "
      "of the same length. \"highest\" is the highest score in standard deviations above the mean.",
      "\"rows differ\" is half the relative standard deviation, over rows, of their variance. Errors are from "
      "means of up to 64 batches of successive rows."};
  return table;
}

Table weights_by_length(const HeadDetail& one) {
  Table table{.name = "weights",
              .title = name_of(one) + ": the weights of a row, by its length",
              .columns = {{"row_lengths"},
                          {.name = "entropy", .unit = "nats", .digits = 4, .decimals_as = 1},
                          {.name = "entropy_error", .heading = "± error", .digits = 2, .decimals_as = 1},
                          {.name = "entropy_predicted", .heading = "predicted", .digits = 4, .decimals_as = 1},
                          {.name = "effective_keys", .heading = "keys", .digits = 4, .decimals_as = 2},
                          {.name = "effective_keys_predicted", .heading = "predicted", .digits = 4, .decimals_as = 2},
                          {.name = "largest_weight", .heading = "largest", .digits = 3, .decimals_as = 3},
                          {.name = "largest_weight_predicted", .heading = "predicted", .digits = 3, .decimals_as = 3},
                          {.name = "needle_weight", .heading = "needle", .digits = 3, .decimals_as = 4},
                          {.name = "needle_weight_predicted", .heading = "predicted", .digits = 3, .decimals_as = 4}}};
  for (const LengthSummary& rows : one.lengths) {
    table.add_row({lengths_of(rows.shortest_row, rows.longest_row), rows.entropy, number(rows.entropy_error),
                   rows.entropy_predicted, rows.effective_keys, rows.effective_keys_predicted, rows.largest_weight,
                   rows.largest_weight_predicted, rows.needle_weight, rows.needle_weight_predicted});
  }
  table.notes = {"needle: the weight of one more score, " + short_text(one.gap, 4) +
                 " above the mean of the row's; its prediction is for the middle length."};
  return table;
}

/// Rows of theory beside measurement, with their verdicts.
Table judged_table(const std::string& table_name, const std::string& title, const std::vector<JudgedQuantity>& rows) {
  Table table{.name = table_name,
              .title = title,
              .columns = {{"quantity"},
                          {.name = "predicted", .decimals_as = 1},
                          {.name = "measured", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {.name = "z", .style = Style::two_decimals},
                          {.name = "verdict"},
                          {.name = "reason", .in_text = InText::hidden}},
              .key_columns = 1};
  for (const auto& [name, agreement, verdict] : rows) {
    const double off = agreement.estimate.mean - agreement.theory;
    const Cell z = agreement.excess >= 0 && std::isfinite(agreement.excess)
                       ? Cell(agreement.excess == 0 ? 0.0 : std::copysign(agreement.excess, off))
                       : Cell();
    const std::string word = verdict == statistics::Verdict::agrees      ? "agrees"
                             : verdict == statistics::Verdict::disagrees ? "disagrees"
                                                                         : "not judged";
    const Cell reason = verdict == statistics::Verdict::not_judged ? Cell(agreement.reason) : Cell();
    table.add_row(
        {name, agreement.theory, agreement.estimate.mean, number(agreement.estimate.standard_error), z, word, reason});
  }
  return table;
}

std::vector<Table> comparison_tables(const HeadDetail& one) {
  const auto& main = one.head.rows;
  const std::string rows = "rows of " + lengths_of(main.shortest, main.longest) + " scores";
  std::vector<Table> tables{
      judged_table("law", name_of(one) + ": " + rows + " beside the law of normal scores", one.normal_law)};
  tables.back().notes = {
      "Rows may be correlated within batches; that batches are independent is assumed. Rows of one "
      "prompt share their keys, so that errors are those over queries, given these keys."};
  if (one.held_out.empty()) return tables;
  tables.push_back(judged_table(
      "held_out", name_of(one) + ": held out: " + rows + ", predicted from the first quarter of other rows",
      one.held_out));
  tables.back().notes = {calibration::all_agree(one.held_out)
                             ? "Quarter rows predict the whole rows within the errors: so far, the plan below holds."
                             : "Quarter rows do not predict the whole rows within the errors: predictions for longer "
                               "rows below are off by at least as much."};
  return tables;
}

/// A length, as a whole number where it is one that can be counted.
Cell length(double value) {
  constexpr double most = 1e15;
  if (std::isfinite(value) && std::abs(value) < most && value == std::floor(value)) {
    return static_cast<std::int64_t>(value);
  }
  return number(value);
}

Table lengths_table(const HeadDetail& one) {
  const calibration::HeadLimits& limits = *one.limits;
  Table table{.name = "lengths",
              .title = name_of(one) + ": where it fades or freezes",
              .columns = {{"quantity"}, {.name = "value", .digits = 5}}};
  table.add_row({"standard deviation of the scores, x", limits.score_stddev});
  table.add_row({"trained length", limits.trained_length});
  table.add_row({"x / sqrt(2 log n) there (1: frozen)", limits.freezing_ratio});
  table.add_row({"longest frozen row, e^(x²/2)", length(limits.longest_frozen_length)});
  table.add_row({"gap of the needle", limits.gap});
  table.add_row({"its weight at the trained length", limits.needle_weight});
  table.add_row({"longest row in which it has half of the weight", length(limits.critical_length)});
  table.add_row(
      {"longest row in which it is the highest score more often than not", length(limits.distinguishing_length)});
  table.notes = {"Beyond the last length no temperature distinguishes the needle: another score is higher."};
  return table;
}

Table rules_table(const HeadDetail& one, Held held, const std::string& name, const CalibrateOptions& o) {
  const auto& rules = one.rules[static_cast<std::size_t>(held)];
  const auto& unchanged = rules[1];  // whose value at the first length is the one to hold
  const std::string key = held == Held::entropy          ? "entropy"
                          : held == Held::largest_weight ? "largest_weight"
                                                         : "needle";
  Table table{.name = "hold_" + key,
              .title = name_of(one) + ": inverse temperatures that hold " + name + " by the law of normal scores, " +
                       short_text(unchanged.value.front(), 5) + " at length " + std::to_string(one.trained_length),
              .columns = {{"rule"}},
              .key_columns = 1};
  for (const std::int64_t factor : o.factors) {
    const std::string times = std::to_string(factor) + "x";
    table.columns.push_back(
        {.name = "inverse_temperature_" + times, .heading = "β " + times, .digits = 5, .decimals_as = 1});
  }
  for (const std::int64_t factor : o.factors) {
    const std::string times = std::to_string(factor) + "x";
    table.columns.push_back({.name = "value_" + times, .heading = "at " + times, .digits = 5, .decimals_as = 2});
  }
  for (const auto& rule : rules) {
    std::vector<Cell> cells{rule.name};
    for (const double beta : rule.inverse_temperature) cells.push_back(number(beta));
    for (const double value : rule.value) cells.push_back(number(value));
    table.add_row(cells);
  }
  const std::string warning = calibration::warning_about_law(one.head);
  if (!warning.empty()) table.notes.push_back(warning);
  for (const auto& rule : rules) {
    if (!rule.reason.empty()) table.notes.push_back(rule.name + ": " + rule.reason + ".");
  }
  return table;
}

/// The plans beside measurements on rows that the plans were not made from.
Table plan_table(const HeadDetail& one) {
  std::vector<JudgedQuantity> rows;
  for (const calibration::TriedPlan& plan : one.plans) {
    rows.push_back(plan.result);
    rows.back().quantity += " at inverse temperature " + short_text(plan.inverse_temperature, 5);
  }
  Table table =
      judged_table("plan", name_of(one) + ": the plan tried on these rows, from a quarter of their length", rows);
  for (const calibration::TriedPlan& plan : one.plans) {
    table.notes.push_back("Measured at inverse temperature 1: " + plan.result.quantity + " " +
                          short_text(plan.quarter_rows, 5) + " in quarter rows, which the plan is to hold, and " +
                          short_text(plan.whole_rows, 5) + " in whole rows.");
  }
  return table;
}

}  // namespace

std::vector<Table> detail_tables(const HeadDetail& one, const CalibrateOptions& o) {
  std::vector<Table> tables{scores_by_length(one)};
  if (!(one.head.score_stddev > 0)) {
    tables.back().notes.push_back(calibration::warning_about_law(one.head));
    return tables;
  }
  tables.push_back(weights_by_length(one));
  for (Table& table : comparison_tables(one)) tables.push_back(std::move(table));
  tables.push_back(lengths_table(one));
  tables.push_back(rules_table(one, Held::entropy, "the entropy", o));
  tables.push_back(rules_table(one, Held::largest_weight, "the largest weight", o));
  tables.push_back(rules_table(one, Held::needle_weight, "the needle's weight", o));
  tables.back().notes.push_back(
      "exact solves the laws of normal rows; SSMax is the line s log n + b nearest to it; YaRN is (0.1 ln factor + 1)² "
      "(arXiv 2309.00071); log n is Qwen's rule, too, and LongRoPE's; Llama 4 and Mistral step by 0.1 log per trained "
      "length; SSA has the exponent that holds the weight at the trained length.");
  if (!one.plans.empty()) tables.push_back(plan_table(one));
  return tables;
}

}  // namespace incontext::examples::calibrate
