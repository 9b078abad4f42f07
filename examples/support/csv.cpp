#include "examples/support/csv.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

/// One record, its cells and the line it starts on. A quoted cell may hold commas, doubled quotes and line ends.
struct CsvRecord {
  std::vector<std::string> cells;
  std::size_t line = 1;
  bool blank = false;
};

std::vector<CsvRecord> split_csv(const std::string& file, std::string_view text) {
  std::vector<CsvRecord> records;
  std::size_t line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    CsvRecord record{.cells = {}, .line = line, .blank = false};
    const std::size_t first = at;
    for (bool more_cells = true; more_cells;) {
      std::string cell;
      if (at < text.size() && text[at] == '"') {
        for (++at;; ++at) {
          if (at >= text.size()) {
            throw InputError(file + ": line " + std::to_string(record.line) +
                             ": quoted cell is never closed (needs a second quotation mark)");
          }
          if (text[at] == '\n') ++line;
          if (text[at] != '"') {
            cell += text[at];
          } else if (at + 1 < text.size() && text[at + 1] == '"') {
            cell += text[++at];
          } else {
            ++at;
            break;
          }
        }
      }
      while (at < text.size() && text[at] != ',' && text[at] != '\n') cell += text[at++];
      if (!cell.empty() && cell.back() == '\r') cell.pop_back();
      record.cells.emplace_back(trimmed(cell));
      more_cells = at < text.size() && text[at] == ',';
      if (more_cells) ++at;
    }
    record.blank = trimmed(text.substr(first, at - first)).empty();
    if (at < text.size()) {
      ++at;
      ++line;
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

CsvFile parse_csv(const std::string& file, std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  if (text.find('\0') != std::string_view::npos)
    throw InputError(file + ": is not text (it holds a zero byte; needs CSV)");
  std::vector<CsvRecord> records = split_csv(file, text);
  while (!records.empty() && records.back().blank) records.pop_back();
  if (records.empty()) throw InputError(file + ": is empty (needs a header line and rows of numbers)");

  CsvFile csv{.file = file, .column_names = std::move(records.front().cells), .rows = {}, .lines = {}};
  const auto& names = csv.column_names;
  if (std::all_of(names.begin(), names.end(),
                  [](const std::string& name) { return parse_decimal(name).has_value(); })) {
    throw_input_error(file, "first line holds numbers", names.front(), "a header line with the column names");
  }
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (names[j].empty()) {
      throw InputError(file + ": column " + std::to_string(j + 1) + " has no name in the header line (needs one)");
    }
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(j), names[j]) !=
        names.begin() + static_cast<std::ptrdiff_t>(j)) {
      throw_input_error(file, "column name stands twice in the header line", names[j], "different names");
    }
  }
  for (std::size_t i = 1; i < records.size(); ++i) {
    const std::string where = file + ": row " + std::to_string(i) + " (line " + std::to_string(records[i].line) + ")";
    if (records[i].blank) throw InputError(where + ": is blank (needs " + std::to_string(names.size()) + " cells)");
    if (records[i].cells.size() != names.size()) {
      throw_input_error(where, "has the wrong number of cells", records[i].cells.size(), std::to_string(names.size()));
    }
    csv.rows.push_back(std::move(records[i].cells));
    csv.lines.push_back(records[i].line);
  }
  if (csv.rows.empty()) throw InputError(file + ": has a header line and no rows (needs rows of numbers)");
  return csv;
}

CsvFile read_csv(const std::string& path) { return parse_csv(path, read_whole_file(path)); }

std::vector<double> numeric_column(const CsvFile& csv, const std::string& name) {
  const auto found = std::find(csv.column_names.begin(), csv.column_names.end(), name);
  if (found == csv.column_names.end()) {
    std::string known;
    for (const std::string& other : csv.column_names) known += (known.empty() ? "" : ", ") + other;
    throw_input_error(csv.file, "has no such column", name, "one of " + known);
  }
  const auto j = static_cast<std::size_t>(found - csv.column_names.begin());
  std::vector<double> values;
  values.reserve(csv.rows.size());
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const std::string& cell = csv.rows[i][j];
    const auto refuse = [&](std::string_view problem) {
      throw_input_error(
          csv.file + ": row " + std::to_string(i + 1) + " (line " + std::to_string(csv.lines[i]) + "), column " + name,
          problem, '"' + cell + '"', "a finite number");
    };
    if (cell.empty()) refuse("cell is missing");
    if (names_non_finite(cell)) refuse("cell is not finite");
    const auto value = parse_decimal(cell);
    if (!value) refuse("cell is not a number");
    if (!std::isfinite(*value)) refuse("cell is not finite");
    values.push_back(*value);
  }
  return values;
}

}  // namespace incontext::examples
