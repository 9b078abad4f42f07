#include "examples/verify/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "examples/support/claims.hpp"
#include "examples/support/text.hpp"
#include "incontext/core/contracts.hpp"

namespace incontext::examples::verify {

namespace {

using nlohmann::json;

double number_in(const json& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_number() ? found->get<double>() : std::nan("");
}

std::string text_in(const json& row, const char* name) {
  const auto found = row.find(name);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t count_in(const json& row) {
  for (const char* column : {"values", "trials", "runs", "contexts"}) {
    if (const double count = number_in(row, column); std::isfinite(count)) return static_cast<std::int64_t>(count);
  }
  return 0;
}

/// The columns that name a row: those before its comparison.
bool ends_the_name(const std::string& column, const json& cell) {
  for (const char* name : {"claimed", "simulation", "cases", "computed", "relation"}) {
    if (column == name) return true;
  }
  return column == "theory" && !cell.is_string();  // in some tables of controls it is the statement
}

void name_row(Row& row, const json& columns, const json& cells) {
  for (const json& column : columns) {
    const std::string name = column.value("name", ""), heading = column.value("heading", name);
    const json& cell = cells.contains(name) ? cells.at(name) : json();
    if (ends_the_name(name, cell)) break;
    const std::string separator = row.name.empty() ? "" : ", ";
    if (cell.is_string() && !cell.get<std::string>().empty()) {
      row.words.emplace_back(name, cell.get<std::string>());
      row.name += separator + cell.get<std::string>();
    } else if (cell.is_number()) {
      row.numbers.emplace_back(name, cell.get<double>());
      row.name += separator + heading + " = " + short_text(cell.get<double>(), 5);
    }
  }
}

void read_comparison(Row& row, const json& cells) {
  row.theory = number_in(cells, row.kind == RowKind::control ? "claimed" : "theory");
  row.simulation = number_in(cells, row.kind == RowKind::exact ? "computed" : "simulation");
  row.standard_error = number_in(cells, "standard_error");
  row.values = count_in(cells);
  const double tolerance = number_in(cells, "tolerance"), bayes = number_in(cells, "bayes");
  if (std::isfinite(tolerance)) row.tolerance = tolerance;
  if (std::isfinite(bayes)) row.bayes = bayes;
  row.relation = text_in(cells, "relation");
  const std::string verdict = text_in(cells, "verdict"), outcome = text_in(cells, "outcome");
  row.holds = verdict == "agrees" || verdict == Claims::refuted;
  row.passed = outcome == "NOT REJECTED";
  row.cannot_tell = outcome == "cannot tell";
  if (row.kind == RowKind::judged && verdict == "not_judged") row.unjudged = text_in(cells, "reason");
  if (row.kind == RowKind::control && outcome == "not reached") row.unjudged = outcome;
  const bool has_numbers = std::isfinite(row.theory) && std::isfinite(row.simulation);
  if (row.kind == RowKind::shown) row.unjudged = "shown";
  if (row.unjudged.empty() && !(row.kind == RowKind::exact ? has_numbers : has_numbers && row.values > 1)) {
    row.unjudged = "no simulation to judge by";
  }
}

RowKind kind_of(const json& cells) {
  if (cells.contains("outcome")) return RowKind::control;
  if (cells.contains("computed")) return text_in(cells, "relation") == "!=" ? RowKind::control : RowKind::exact;
  if (cells.contains("verdict") && cells.contains("theory") && !cells.at("verdict").is_null()) return RowKind::judged;
  return RowKind::shown;
}

/// Another theory in a judged row, of which only z is reported.
std::vector<Row> other_theories(const Row& row, const json& cells) {
  std::vector<Row> controls;
  for (const auto& [column, cell] : cells.items()) {
    if (!column.ends_with("_z") || !cell.is_number()) continue;
    Row control = row;
    control.kind = RowKind::control;
    control.relation.clear();
    control.theory = row.simulation - cell.get<double>() * row.standard_error;
    control.tolerance = 0;
    std::string theory = column.substr(0, column.size() - 2);
    std::replace(theory.begin(), theory.end(), '_', ' ');
    control.name += ": by the formula \"" + theory + "\"";
    control.words.emplace_back("z", column);
    controls.push_back(std::move(control));
  }
  return controls;
}

bool has_cell(const Row& row, const Key& key) {
  for (const auto& [column, word] : row.words) {
    if (column != key.column) continue;
    const bool is_whole = key.value.ends_with('$');
    return is_whole ? word + '$' == key.value : word.starts_with(key.value);
  }
  const auto wanted = parse_decimal(key.value);
  const double number = number_of(row, key.column);
  if (std::isnan(number)) return false;
  return key.value.empty() || (wanted && std::abs(number - *wanted) <= 1e-9 * std::abs(*wanted));
}

}  // namespace

double number_of(const Row& row, const std::string& column) {
  for (const auto& [name, number] : row.cells) {
    if (name == column) return number;
  }
  return std::nan("");
}

bool has(const Row& row, const std::vector<Key>& where) {
  return std::all_of(where.begin(), where.end(), [&row](const Key& key) { return has_cell(row, key); });
}

std::vector<Row> rows_of(const json& report, const std::string& command) {
  std::vector<Row> rows;
  const bool is_drawn = report.contains("seed") && report.at("seed").is_number();
  for (const json& table : report.at("tables")) {
    for (const json& cells : table.at("rows")) {
      const RowKind kind = kind_of(cells);
      Row row{.kind = kind, .command = command, .table = table.at("title").get<std::string>(), .drawn = is_drawn};
      name_row(row, table.at("columns"), cells);
      for (const auto& [column, cell] : cells.items()) {
        if (cell.is_number()) row.cells.emplace_back(column, cell.get<double>());
      }
      if (cells.contains("computed") && kind == RowKind::control) {  // a statement that computed numbers contradict
        row.kind = RowKind::exact;
        read_comparison(row, cells);
        row.kind = RowKind::control;
        rows.push_back(std::move(row));
        continue;
      }
      read_comparison(row, cells);
      std::vector<Row> others = row.kind == RowKind::judged ? other_theories(row, cells) : std::vector<Row>();
      rows.push_back(std::move(row));
      std::move(others.begin(), others.end(), std::back_inserter(rows));
    }
  }
  return rows;
}

bool is_within(const RowGroup& group, const Row& row) {
  const double place = group.along.empty() ? 0 : number_of(row, group.along);
  return !(group.from && !(place >= *group.from)) && !(group.to && !(place <= *group.to));
}

std::string no_row_text(const Selection& rows) {
  std::string text = "no row of a table '" + rows.table + "'";
  for (const Key& key : rows.where) text += ", " + key.column + " " + key.value;
  return text + (rows.z.empty() ? "" : ", " + rows.z);
}

std::vector<std::size_t> selected(const std::vector<Row>& all, const Selection& rows) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Row& row = all[i];
    if (std::find(rows.runs.begin(), rows.runs.end(), row.command) == rows.runs.end()) continue;
    if (!row.table.starts_with(rows.table)) continue;
    const bool is_other_theory =
        std::any_of(row.words.begin(), row.words.end(), [](const auto& word) { return word.first == "z"; });
    if (is_other_theory ? rows.z.empty() || !has_cell(row, {"z", rows.z}) : !rows.z.empty()) continue;
    if (has(row, rows.where)) chosen.push_back(i);
  }
  return chosen;
}

}  // namespace incontext::examples::verify
