#include "examples/support/judgment.hpp"

#include <incontext/core/contracts.hpp>
#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/effect.hpp>
#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/family_verdict.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

/// A comparison, the name of its row, whether the user asked for it, and whether its table is for the audit: a row that
/// was not asked for may be left without a verdict.
struct Judgment::Entry {
  statistics::Comparison comparison;
  bool asked = true;
  std::string row = {};
  bool audit = false;

  Cell cell(Pending::Field field) const;
};

namespace {

using statistics::Estimate;

constexpr const char* not_reached = "not reached: the run was stopped early";

std::string fixed(double value, int decimals) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::fixed, decimals)
                              : detail::non_finite_word(value);
}

Cell finite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

/// The mean and its error, absent if some trials were not finite, because the mean of the others would be biased.
std::vector<Cell> simulation_cells(const Estimate& estimate) {
  if (estimate.non_finite > 0 || estimate.count < 2) return {Cell(), Cell()};
  return {finite(estimate.mean), finite(estimate.standard_error)};
}

std::int64_t trials_of(const Estimate& estimate) { return estimate.count + estimate.non_finite; }

std::string word(statistics::Verdict verdict) {
  switch (verdict) {
    case statistics::Verdict::agrees:
      return "agrees";
    case statistics::Verdict::disagrees:
      return "disagrees";
    case statistics::Verdict::not_judged:
      break;
  }
  return "not_judged";
}

/// The rows of which one thing is said for one reason.
struct RowsOfReason {
  std::string what;
  std::string reason;
  std::vector<std::string> rows = {};
};

void add_row(std::vector<RowsOfReason>& reasons, const std::string& what, const std::string& reason,
             const std::string& row) {
  auto at = std::find_if(reasons.begin(), reasons.end(),
                         [&](const RowsOfReason& one) { return one.what == what && one.reason == reason; });
  if (at == reasons.end()) at = reasons.insert(at, {what, reason});
  at->rows.push_back(row);
}

std::string line_of(const RowsOfReason& one) {
  if (one.rows.size() == 1) return one.what + ": " + one.rows.front() + ": " + one.reason + ".";
  std::string line = one.what + ", " + std::to_string(one.rows.size()) + " rows: " + one.reason + ": ";
  for (std::size_t i = 0; i < one.rows.size(); ++i) line += (i > 0 ? "; " : "") + one.rows[i];
  return line + ".";
}

/// Notes on the rows that the table itself leaves without a simulated value, and why.
void note_rows_without_simulated_value(Table& table) {
  std::vector<RowsOfReason> reasons;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (table.columns[j].name != "reason") continue;
    for (const std::vector<Cell>& row : table.rows) {
      const auto* reason = std::get_if<std::string>(&row[j]);
      if (reason != nullptr && *reason != not_reached)
        add_row(reasons, "Without a simulated value", *reason, row_name(table, row));
    }
  }
  for (const RowsOfReason& one : reasons) table.notes.push_back(line_of(one));
}

std::string counted(std::size_t comparisons) {
  return std::to_string(comparisons) + (comparisons == 1 ? " comparison" : " comparisons");
}

}  // namespace

statistics::Relation relation_of(const std::string& sign) {
  return sign == ">="   ? statistics::Relation::at_least
         : sign == "<=" ? statistics::Relation::at_most
                        : statistics::Relation::equals;
}

std::vector<Column> comparison_columns() {
  return {{.name = "theory", .decimals_as = 1, .in_text = InText::where_filled},
          {.name = "approximate", .decimals_as = 1, .in_text = InText::where_filled},
          {.name = "simulation", .decimals_as = 1},
          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
          {.name = "z", .style = Style::two_decimals, .in_text = InText::where_filled},
          {.name = "trials", .in_text = InText::hidden},
          {.name = "values", .in_text = InText::hidden},
          {.name = "tolerance", .in_text = InText::hidden},
          {.name = "verdict", .in_text = InText::hidden},
          {.name = "reason", .in_text = InText::hidden}};
}

std::vector<Cell> unreached_comparison() {
  std::vector<Cell> cells(comparison_columns().size());
  cells.back() = not_reached;
  return cells;
}

Judgment::Judgment() = default;
Judgment::~Judgment() = default;

std::size_t Judgment::size() const { return entries_.size(); }

std::vector<Cell> Judgment::add(statistics::Comparison comparison, bool asked) {
  const std::size_t at = entries_.size();
  const statistics::Agreement& agreement = comparison.agreement;
  std::vector<Cell> cells{finite(agreement.theory), Cell()};
  for (Cell& cell : simulation_cells(agreement.estimate)) cells.push_back(std::move(cell));
  const double tolerance = agreement.theory_error + agreement.estimate.rounding;
  cells.insert(cells.end(),
               {Pending{at, Pending::Field::z}, comparison.trials, agreement.estimate.count, finite(tolerance),
                Pending{at, Pending::Field::verdict}, Pending{at, Pending::Field::reason}});
  entries_.push_back({.comparison = std::move(comparison), .asked = asked});
  return cells;
}

std::vector<Cell> Judgment::judged(const statistics::Theory& theory, const Estimate& estimate,
                                   std::optional<std::int64_t> trials) {
  return add(statistics::compare(theory, estimate, trials));
}

std::vector<Cell> Judgment::judged_bound(const std::string& relation, double bound, const Estimate& estimate,
                                         std::int64_t trials) {
  return add(statistics::compare(bound, estimate, trials, relation_of(relation)));
}

std::vector<Cell> Judgment::judged_within(double value, double tolerance, const Estimate& estimate) {
  return add(statistics::compare_within(value, tolerance, estimate));
}

std::vector<Cell> Judgment::not_judged(const statistics::Theory& theory, const Estimate& estimate,
                                       const std::string& reason) {
  return add(statistics::untested(theory, estimate, reason));
}

std::vector<Cell> Judgment::left_out(const statistics::Theory& theory, const Estimate& estimate,
                                     const std::string& reason) {
  return add(statistics::untested(theory, estimate, reason), false);
}

std::vector<Cell> Judgment::judged_if_enough(const statistics::Theory& theory, const Estimate& estimate,
                                             double effective_trials, const std::string& reason) {
  const bool is_enough = estimate.count < 2 || fewest_effective_trials <= effective_trials;
  return is_enough ? judged(theory, estimate) : not_judged(theory, estimate, reason);
}

std::vector<Cell> Judgment::judged_if_enough(const statistics::Theory& theory, const Estimate& estimate,
                                             double effective_trials) {
  const std::string contribute = std::isfinite(effective_trials) ? fixed(effective_trials, 0) : std::string("0");
  return judged_if_enough(theory, estimate, effective_trials,
                          "no more than " + contribute + " of the " + std::to_string(estimate.count) +
                              " trials contribute to the mean, so its error is unknown: increase --trials");
}

std::vector<Cell> Judgment::shown(std::optional<double> approximate, const Estimate& estimate) {
  std::vector<Cell> cells{Cell(), approximate ? finite(*approximate) : Cell()};
  for (Cell& cell : simulation_cells(estimate)) cells.push_back(std::move(cell));
  const Cell reason = trials_of(estimate) == 0 ? Cell(std::string(not_reached)) : Cell();
  cells.insert(cells.end(), {Cell(), trials_of(estimate), Cell(estimate.count), Cell(), Cell(), reason});
  return cells;
}

std::string Judgment::note() const {
  const std::string bound = "Family-wise bound: |z| <= " + fixed(whole_.bound, 2) + " in all of " +
                            std::to_string(whole_.tested) + " comparisons (Holm; false alarms in one run of " +
                            detail::number_text(1 / false_alarm_rate) + ").";
  return whole_.coarsest ? bound + " The row that tells least: " + entries_[*whole_.coarsest].row + "." : bound;
}

Cell Judgment::Entry::cell(Pending::Field field) const {
  const statistics::Agreement& agreement = comparison.agreement;
  const bool judged = comparison.verdict != statistics::Verdict::not_judged;
  if (field == Pending::Field::verdict) return word(comparison.verdict);
  if (field == Pending::Field::reason) return judged ? Cell() : Cell(agreement.reason);
  if (!judged) return {};
  const double off = agreement.estimate.mean - agreement.theory;
  return finite(agreement.excess == 0 ? 0 : std::copysign(agreement.excess, off));
}

void Judgment::settle(std::vector<Table>& tables) {
  std::vector<statistics::Comparison> family;
  for (const Entry& entry : entries_) family.push_back(entry.comparison);
  whole_ = statistics::judge(family, false_alarm_rate);
  for (std::size_t i = 0; i < family.size(); ++i) entries_[i].comparison = std::move(family[i]);
  Table* last = nullptr;
  for (Table& table : tables) {
    note_rows_without_simulated_value(table);
    for (std::vector<Cell>& row : table.rows) {
      for (Cell& cell : row) {
        const Pending* pending = std::get_if<Pending>(&cell);
        if (pending == nullptr) continue;
        Entry& entry = entries_[pending->comparison];
        if (entry.row.empty()) entry.row = row_name(table, row);
        entry.audit = table.audit;
        cell = entry.cell(pending->field);
        last = &table;
      }
    }
  }
  if (last != nullptr && whole_.tested > 0) last->audit_notes.push_back(note());
}

std::string Judgment::headline(std::size_t asked) const {
  const std::size_t left = asked - whole_.judged, left_out = entries_.size() - asked;
  if (asked == 0 && left_out > 0) {
    return "Nothing was judged: " + counted(left_out) + " shown without a verdict.";
  }
  if (asked == 0) return "Nothing was judged: no row has both an exact theory and a simulation.";
  if (whole_.judged == 0) return "Nothing was judged of " + counted(asked) + ".";
  const std::string family = left > 0 ? std::to_string(whole_.judged) + " of " + counted(asked) : counted(asked);
  std::string text = whole_.disagreements > 0
                         ? "DISAGREEMENT in " + std::to_string(whole_.disagreements) + " of " + family
                     : left > 0 ? "Incomplete: " + family + " judged, and none disagrees"
                                : "Agreement: " + family;
  const auto hidden = std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.audit; });
  if (hidden > 0) text += ", " + std::to_string(hidden) + " of them with --audit";
  const Entry& farthest = entries_[*whole_.farthest];
  text += ", largest |z| " + fixed(farthest.comparison.agreement.excess, 2) + " (" + farthest.row + "), bound " +
          fixed(whole_.bound, 2);
  constexpr double bound_of_many_values = 6;
  if (whole_.bound > bound_of_many_values) text += ", because some errors are those of few values";
  if (!whole_.coarsest) return text + ".";
  const std::string median = statistics::percent_text(whole_.median_resolution);
  const std::string worst = statistics::percent_text(worst_resolution());
  return text + "; a deviation of " + median + (worst == median ? "" : ", in the worst row " + worst + ",") +
         " would be detected nine times in ten.";
}

double Judgment::worst_resolution() const {
  return entries_[*whole_.coarsest].comparison.agreement.resolution(whole_.bound);
}

/// A line for each row that disagrees, and for each reason not to judge rows.
std::vector<std::string> Judgment::lines() const {
  std::vector<std::string> lines;
  std::vector<RowsOfReason> reasons;
  for (const Entry& entry : entries_) {
    const statistics::Agreement& agreement = entry.comparison.agreement;
    if (entry.comparison.verdict == statistics::Verdict::not_judged) {
      add_row(reasons, entry.asked ? "Not judged" : "Shown without a verdict", agreement.reason, entry.row);
    } else if (entry.comparison.verdict == statistics::Verdict::disagrees) {
      lines.push_back("Disagrees: " + entry.row + ": theory " + short_text(agreement.theory, 6) + ", simulation " +
                      short_text(agreement.estimate.mean, 6) + " ± " +
                      short_text(agreement.estimate.standard_error, 2) + ".");
    }
  }
  for (const RowsOfReason& one : reasons) lines.push_back(line_of(one));
  return lines;
}

Verdict Judgment::verdict() const {
  const auto asked = static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.asked; }));
  Verdict result{.text = headline(asked), .rows = lines()};
  if (whole_.disagreements > 0) result.agrees = false;
  if (whole_.disagreements == 0 && whole_.judged > 0 && whole_.judged == asked) result.agrees = true;
  result.details = {{"comparisons", asked},
                    {"judged", whole_.judged},
                    {"disagreements", whole_.disagreements},
                    {"not_judged", asked - whole_.judged},
                    {"shown_without_verdict", entries_.size() - asked},
                    {"largest_absolute_z", nullptr},
                    {"bound", nullptr},
                    {"false_alarm_rate", false_alarm_rate},
                    {"median_resolution", nullptr},
                    {"worst_resolution", nullptr},
                    {"worst_row", nullptr}};
  if (whole_.judged > 0) {
    const double largest = entries_[*whole_.farthest].comparison.agreement.excess;
    result.details["largest_absolute_z"] = detail::json_number(largest);
    result.details["bound"] = whole_.bound;
  }
  if (whole_.coarsest) {
    result.details["median_resolution"] = whole_.median_resolution;
    result.details["worst_resolution"] = worst_resolution();
    result.details["worst_row"] = entries_[*whole_.coarsest].row;
  }
  return result;
}

namespace {

/// A report of exact values alone: nothing is pending, and the columns of a simulation are empty and not shown.
void leave_unjudged(Report& report) {
  for (Table& table : report.tables) {
    for (Column& column : table.columns) {
      if (column.in_text == InText::shown) column.in_text = InText::where_filled;
    }
    for (std::vector<Cell>& row : table.rows) {
      for (Cell& cell : row) {
        const auto* word = std::get_if<std::string>(&cell);
        if (std::holds_alternative<Pending>(cell) || (word != nullptr && *word == not_reached)) cell = Cell();
      }
    }
  }
  std::erase_if(report.tables, [](const Table& table) { return table.name == controls_name; });
  report.verdict = Verdict{.text = "Exact values alone: nothing was simulated, and no row is judged."};
}

}  // namespace

void judge(Report& report, Judgment& judgment) {
  if (!report.run.simulated) {
    leave_unjudged(report);
    return;
  }
  for (Table& table : report.tables) {
    table.audit_notes.insert(table.audit_notes.end(), table.draw_notes.begin(), table.draw_notes.end());
  }
  judgment.settle(report.tables);
  report.verdict = judgment.verdict();
}

}  // namespace incontext::examples
