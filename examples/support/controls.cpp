#include "examples/support/controls.hpp"

#include <incontext/statistics/controls.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

namespace {

using statistics::ControlOutcome;

std::string word_of(ControlOutcome outcome) {
  return outcome == ControlOutcome::rejected      ? "rejected"
         : outcome == ControlOutcome::passed      ? "NOT REJECTED"
         : outcome == ControlOutcome::cannot_tell ? "cannot tell"
                                                  : "not reached";
}

Table control_table(std::string title, std::vector<Column> columns, std::string note) {
  for (Column& column : std::vector<Column>{{.name = "claimed", .digits = 4, .decimals_as = 1},
                                            {.name = "simulation", .decimals_as = 1},
                                            {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                                            {.name = "z", .digits = 4},
                                            {.name = "trials", .in_text = InText::hidden},
                                            {"outcome"}}) {
    columns.push_back(std::move(column));
  }
  return {.name = controls_name, .title = std::move(title), .columns = std::move(columns), .notes = {std::move(note)}};
}

}  // namespace

Controls::Controls()
    : Controls(control_table(
                   "Negative controls: limits, taken at their word where they do not hold", {{"limit"}, {"n"}, {"at"}},
                   "None holds at this length, and each must be rejected (|z| > 5) where the simulation can tell."),
               2) {}

Controls::Controls(std::vector<Column> keys)
    : Controls(control_table("Negative controls: wrong statements", std::move(keys),
                             "Each is wrong, and must be rejected (|z| > 5) where the simulation can tell."),
               2) {}

Controls::Controls(Table table, std::int64_t fewest_trials) : table_(std::move(table)), fewest_trials_(fewest_trials) {
  table_.audit = true;
}

void Controls::add(std::vector<Cell> keys, double claimed, double exact, const statistics::Estimate& estimate) {
  const auto finite = [](double value) { return std::isfinite(value) ? Cell(value) : Cell(); };
  const auto [z, outcome] = statistics::try_control(claimed, exact, estimate, fewest_trials_);
  failures_ += outcome == ControlOutcome::passed ? 1 : 0;
  for (Cell cell : {finite(claimed), finite(estimate.mean), finite(estimate.standard_error), finite(z),
                    Cell(estimate.count), Cell(word_of(outcome))}) {
    keys.push_back(std::move(cell));
  }
  table_.add_row(std::move(keys));
}

void Controls::join(Verdict& verdict) const {
  if (empty()) return;
  verdict.details["controls"] = table_.rows.size();
  verdict.details["controls_that_passed"] = failures_;
  const auto rows_with = [&](ControlOutcome outcome) {
    std::vector<std::vector<Cell>> rows;
    std::copy_if(table_.rows.begin(), table_.rows.end(), std::back_inserter(rows), [&](const std::vector<Cell>& row) {
      const auto* word = std::get_if<std::string>(&row.back());
      return word != nullptr && *word == word_of(outcome);
    });
    return rows;
  };
  const auto number_with = [&](ControlOutcome outcome) { return rows_with(outcome).size(); };
  if (failures_ == 0) {
    const std::size_t rejected = number_with(ControlOutcome::rejected);
    const std::size_t unclear = number_with(ControlOutcome::cannot_tell),
                      missing = table_.rows.size() - rejected - unclear;
    if (missing == table_.rows.size()) return;
    std::string found;
    const auto say = [&found](std::size_t number, const std::string& of_them) {
      if (number > 0) found += (found.empty() ? "" : "; ") + std::to_string(number) + of_them;
    };
    say(rejected, rejected == 1 ? " rejected, as it should be" : " rejected, as they should be");
    say(unclear, " that the run cannot tell from the truth");
    say(missing, " not reached");
    verdict.text += " Negative controls (--audit): " + found + ".";
    return;
  }
  verdict.agrees = false;
  verdict.text += " DISAGREEMENT: " + std::to_string(failures_) + " of the negative controls not rejected.";
  for (const std::vector<Cell>& row : rows_with(ControlOutcome::passed)) {
    verdict.rows.push_back("Wrong, and not rejected: " + row_name(table_, row) + ".");
  }
}

std::string rejections_note(const Table& table, const std::string& wrong_theory) {
  const auto is_other_z = [](const Column& column) { return column.name.ends_with("_z"); };
  const auto place = std::find_if(table.columns.begin(), table.columns.end(), is_other_z) - table.columns.begin();
  std::size_t rows = 0, rejected = 0;
  for (const std::vector<Cell>& row : table.rows) {
    const double* z = std::get_if<double>(&row.at(static_cast<std::size_t>(place)));
    if (z == nullptr) continue;
    ++rows;
    rejected += std::abs(*z) > 5 ? 1 : 0;
  }
  if (rows == 0) return {};
  return wrong_theory + ", a negative control: rejected (|z| > 5) in " + std::to_string(rejected) + " of " +
         std::to_string(rows) + " rows.";
}

}  // namespace incontext::examples
