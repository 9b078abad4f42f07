#include <incontext/calibration/temperature_rules.hpp>
#include <incontext/laws/critical_length.hpp>
#include <incontext/laws/gaussian_needle.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "examples/calibrate/tables.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::Held;
using calibration::LengthBucket;
using calibration::RowStatistic;

std::string lengths_of(const LengthBucket& bucket) {
  if (bucket.shortest == bucket.longest) return std::to_string(bucket.longest);
  return std::to_string(bucket.shortest) + " to " + std::to_string(bucket.longest);
}

std::string name_of(const DetailedHead& one) {
  return "Layer " + std::to_string(one.head.layer) + ", head " + std::to_string(one.head.head);
}

Cell number(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

Table scores_by_length(const DetailedHead& one) {
  Table table{.title = name_of(one) + ": the scores of a row, by its length",
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
  for (const LengthBucket& bucket : one.measured.buckets) {
    const auto estimate = [&](RowStatistic which) { return bucket.full.estimate(which); };
    const auto mean = estimate(RowStatistic::mean), variance = estimate(RowStatistic::variance);
    const double stddev = std::sqrt(variance.mean);
    const double means = estimate(RowStatistic::squared_mean).mean - mean.mean * mean.mean;
    const double spread = estimate(RowStatistic::squared_variance).mean - variance.mean * variance.mean;
    table.add_row(
        {lengths_of(bucket), bucket.rows, mean.mean, std::sqrt(std::max(means, 0.0)), stddev,
         number(variance.standard_error / (2 * stddev)), number(50 * std::sqrt(std::max(spread, 0.0)) / variance.mean),
         estimate(RowStatistic::skewness).mean, number(estimate(RowStatistic::skewness).standard_error),
         estimate(RowStatistic::excess_kurtosis).mean, number(estimate(RowStatistic::excess_kurtosis).standard_error),
         estimate(RowStatistic::highest).mean, number(calibration::test_normality(bucket.full).p_value)});
  }
  table.notes = {
      "Skewness and kurtosis are means over rows of each row's own; the kurtosis is that above a normal row's "
      "of the same length. \"highest\" is the highest score in standard deviations above the mean.",
      "\"rows differ\" is the standard deviation, over rows, of their standard deviation. Errors are from "
      "means of up to 64 batches of successive rows."};
  return table;
}

Table weights_by_length(const DetailedHead& one) {
  Table table{.title = name_of(one) + ": the weights of a row, by its length",
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
  for (const LengthBucket& bucket : one.measured.buckets) {
    const auto compared = calibration::compare_with_normal_rows(bucket);
    const std::int64_t middle = (bucket.shortest + bucket.longest) / 2;
    const double needle = laws::needle_weight<double>(middle, compared.score_stddev, one.gap).value;
    const auto entropy = bucket.full.estimate(RowStatistic::entropy);
    table.add_row({lengths_of(bucket), entropy.mean, number(entropy.standard_error), compared.entropy.theory,
                   1 / compared.ipr.estimate.mean, 1 / compared.ipr.theory, compared.largest_weight.estimate.mean,
                   compared.largest_weight.theory, bucket.full.estimate(RowStatistic::needle_weight).mean, needle});
  }
  table.notes = {"needle: the weight of one more score, " + short_text(one.gap, 4) +
                 " above the mean of the row's; its prediction is for the middle length."};
  return table;
}

/// Rows of theory beside measurement, with verdicts by Holm's test over all of them.
Table judged_table(const std::string& title, const std::vector<std::pair<std::string, statistics::Agreement>>& rows) {
  Table table{.title = title,
              .columns = {{"quantity"},
                          {.name = "predicted", .decimals_as = 1},
                          {.name = "measured", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {.name = "z", .style = Style::two_decimals},
                          {.name = "verdict"},
                          {.name = "reason", .in_text = InText::hidden}},
              .key_columns = 1};
  std::vector<statistics::Agreement> family;
  for (const auto& [name, agreement] : rows) family.push_back(agreement);
  const auto verdicts = statistics::verdicts(family, 1e-3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, agreement] = rows[i];
    const auto verdict = verdicts[i];
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

std::vector<Table> comparison_tables(const DetailedHead& one) {
  const auto& head = one.head;
  const std::string rows = "rows of " + lengths_of(head.rows) + " scores";
  std::vector<Table> tables{judged_table(name_of(one) + ": " + rows + " beside the law of normal scores",
                                         {{"skewness", head.normality.skewness},
                                          {"excess kurtosis", head.normality.excess_kurtosis},
                                          {"entropy", head.comparison.entropy},
                                          {"sum of squared weights", head.comparison.ipr},
                                          {"largest weight", head.comparison.largest_weight}})};
  tables.back().notes = {
      "Rows may be correlated within batches; that batches are independent is assumed. Rows of one "
      "prompt share their keys, so that errors are those over queries, given these keys."};
  if (!head.held_out) return tables;
  tables.push_back(
      judged_table(name_of(one) + ": held out: " + rows + ", predicted from the first quarter of other rows",
                   {{"variance of the scores", head.held_out->variance},
                    {"entropy", head.held_out->entropy},
                    {"sum of squared weights", head.held_out->ipr},
                    {"largest weight", head.held_out->largest_weight}}));
  const bool agrees = std::all_of(tables.back().rows.begin(), tables.back().rows.end(),
                                  [](const auto& row) { return std::get<std::string>(row[5]) == "agrees"; });
  tables.back().notes = {agrees
                             ? "Quarter rows predict the whole rows within the errors: so far, the plan below holds."
                             : "Quarter rows do not predict the whole rows within the errors: predictions for longer "
                               "rows below are off by at least as much."};
  return tables;
}

Table lengths_table(const DetailedHead& one) {
  const double x = one.head.score_stddev, gap = one.gap;
  const auto n = static_cast<double>(one.trained_length);
  const auto critical = laws::softmax_critical_length(x, gap);
  Table table{.title = name_of(one) + ": where it fades or freezes",
              .columns = {{"quantity"}, {.name = "value", .digits = 5}}};
  table.add_row({"standard deviation of the scores, x", x});
  table.add_row({"trained length", n});
  table.add_row({"x / sqrt(2 log n) there (1: frozen)", calibration::freezing_ratio<double>(n, x)});
  table.add_row({"longest frozen row, e^(x²/2)", number(calibration::longest_frozen_length(x))});
  table.add_row({"gap of the needle", gap});
  table.add_row({"its weight at the trained length", laws::needle_weight<double>(n - 1, x, gap).value});
  table.add_row({"longest row in which it has half of the weight", static_cast<double>(critical.length)});
  table.add_row({"longest row in which it is the highest score more often than not",
                 number(std::floor(calibration::distinguishing_length(gap / x)))});
  table.notes = {"Beyond the last length no temperature distinguishes the needle: another score is higher."};
  return table;
}

Table rules_table(const DetailedHead& one, Held held, const std::string& name, const CalibrateOptions& o) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t factor : o.factors) lengths.push_back(factor * one.trained_length);
  const auto rules = calibration::temperature_rules(held, {one.head.score_stddev, one.gap}, lengths);
  Table table{.title = name_of(one) + ": inverse temperatures that hold " + name + ", " +
                       short_text(rules.front().value.front(), 5) + " at length " + std::to_string(one.trained_length),
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
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const bool holds = rule.attained.empty() || rule.attained[k];
      cells.push_back(holds ? number(rule.inverse_temperature[k]) : Cell());
    }
    for (const double value : rule.value) cells.push_back(number(value));
    table.add_row(cells);
  }
  const auto& attained = rules.front().attained;
  if (std::find(attained.begin(), attained.end(), false) != attained.end()) {
    table.notes = {
        "Where the exact rule has no β, no inverse temperature holds it; its value there is the best that one "
        "reaches."};
  }
  return table;
}

}  // namespace

std::vector<Table> detail_tables(const DetailedHead& one, const CalibrateOptions& o) {
  std::vector<Table> tables{scores_by_length(one)};
  if (!(one.head.score_stddev > 0)) {
    tables.back().notes.push_back(
        "The scores of a row are all the same: the weights are 1/n at every temperature, and "
        "there is nothing to calibrate.");
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
      "(arXiv 2309.00071); SSA is a map and no temperature, with the exponent that holds the weight at the trained "
      "length.");
  return tables;
}

Table plan_table(const DetailedHead& one, const std::vector<TriedPlan>& plans) {
  std::vector<std::pair<std::string, statistics::Agreement>> rows;
  for (const TriedPlan& plan : plans) {
    const auto check = calibration::check_held_out(plan.at_inverse_temperature);
    rows.emplace_back(plan.quantity + " at inverse temperature " + short_text(plan.inverse_temperature, 5),
                      plan.statistic == RowStatistic::entropy ? check.entropy : check.largest_weight);
  }
  Table table = judged_table(name_of(one) + ": the plan tried on these rows, from a quarter of their length", rows);
  for (const TriedPlan& plan : plans) {
    const auto quarter = one.head.rows.quarter.half(1).estimate(plan.statistic);
    const auto whole = one.head.rows.full.half(1).estimate(plan.statistic);
    table.notes.push_back("Measured at inverse temperature 1: " + plan.quantity + " " + short_text(quarter.mean, 5) +
                          " in quarter rows, which the plan is to hold, and " + short_text(whole.mean, 5) +
                          " in whole rows.");
  }
  return table;
}

}  // namespace incontext::examples::calibrate
