#include "examples/support/controls.hpp"

#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <cstddef>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

namespace {

constexpr double rejected_beyond = 5;
constexpr double telling_beyond = 10;  // standard errors from the exact value to the claimed one

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
    : table_(control_table(
          "Negative controls: limits, taken at their word where they do not hold", {{"limit"}, {"n"}, {"at"}},
          "None holds at this length, and each must be rejected (|z| > 5) where the simulation can tell.")) {}

Controls::Controls(std::vector<Column> keys)
    : table_(control_table("Negative controls: wrong statements", std::move(keys),
                           "Each is wrong, and must be rejected (|z| > 5) where the simulation can tell.")) {}

void Controls::add(std::vector<Cell> keys, double claimed, double exact, const statistics::Estimate& estimate) {
  const auto finite = [](double value) { return std::isfinite(value) ? Cell(value) : Cell(); };
  const double z = (estimate.mean - claimed) / estimate.standard_error;
  std::string outcome = "rejected";
  if (estimate.count < 2) {
    outcome = "not reached";
  } else if (!(std::abs(z) > rejected_beyond)) {
    const bool telling = std::abs(exact - claimed) > telling_beyond * estimate.standard_error;
    outcome = telling ? "NOT REJECTED" : "cannot tell";
    failures_ += telling ? 1 : 0;
  }
  for (Cell cell : {finite(claimed), finite(estimate.mean), finite(estimate.standard_error), finite(z),
                    Cell(estimate.count), Cell(outcome)}) {
    keys.push_back(std::move(cell));
  }
  table_.add_row(std::move(keys));
}

void Controls::join(Verdict& verdict) const {
  if (empty()) return;
  verdict.details["controls"] = table_.rows.size();
  verdict.details["controls_that_passed"] = failures_;
  if (failures_ == 0) return;
  verdict.agrees = false;
  verdict.text += " DISAGREEMENT: " + std::to_string(failures_) + " of the negative controls not rejected.";
}

std::string rejections_note(const Table& table, const std::string& wrong_theory) {
  std::size_t rows = 0, rejected = 0;
  for (const std::vector<Cell>& row : table.rows) {
    const double* z = std::get_if<double>(&row.back());
    if (z == nullptr) continue;
    ++rows;
    rejected += std::abs(*z) > rejected_beyond ? 1 : 0;
  }
  if (rows == 0) return {};
  return wrong_theory + ", a negative control: rejected (|z| > 5) in " + std::to_string(rejected) + " of " +
         std::to_string(rows) + " rows.";
}

}  // namespace incontext::examples
