#include "examples/support/csv.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "examples/support/csv_records.hpp"
#include "examples/support/text.hpp"

// Finds out what a table is: whether its first line names the columns or is a row, whether its first column only numbers
// the rows, and where each row begins. No cell below the first line is converted to a number, except to see whether it
// numbers its row.

namespace incontext::examples {

namespace {

/// "0", "1", "2", ..., as pandas names the columns of an array.
bool counts_from_zero(const std::vector<std::string>& names) {
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (names[j] != std::to_string(j)) return false;
  }
  return names.size() > 1;
}

bool is_number_like(const CsvFile& csv, std::string_view cell) {
  return parse_cell(cell, csv.separator) || names_non_finite(cell) || is_error_value(cell) ||
         (!cell.empty() && csv.is_missing(cell));
}

void require_names(const CsvFile& csv) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t j = csv.row_numbers ? 1 : 0; j < csv.column_names.size(); ++j) {
    const std::string& name = csv.column_names[j];
    if (name.empty()) {
      throw InputError(csv.file + ": column " + std::to_string(j + 1) + " has no name in the header line (needs one)");
    }
    if (!seen.insert(name).second) {
      throw_input_error(csv.file, "column name occurs twice in the header line", name, "different names");
    }
  }
}

/// How many of the last cells are empty.
template <class Cells>
std::size_t empty_at_end(const Cells& cells) {
  const auto is_empty = [](const auto& cell) { return cell.empty(); };
  return static_cast<std::size_t>(std::find_if_not(cells.rbegin(), cells.rend(), is_empty) - cells.rbegin());
}

/// Whether the first column holds distinct whole numbers, and how many of the last ones are empty.
class Margins {
 public:
  Margins(bool may_number_rows, std::size_t last) : numbers_rows_(may_number_rows), last_empty_(last) {}
  void read(const std::vector<std::string_view>& cells) {
    last_empty_ = std::min(last_empty_, empty_at_end(cells));
    if (!numbers_rows_) return;
    const auto number = parse_decimal(cells.front());
    numbers_rows_ = number && *number >= 0 && *number == std::floor(*number) && seen_.insert(*number).second;
  }
  bool numbers_rows() const { return numbers_rows_; }
  std::size_t last_empty() const { return last_empty_; }

 private:
  bool numbers_rows_;
  std::size_t last_empty_;
  std::unordered_set<double> seen_ = {};
};

void require_text(const std::string& file, std::string_view text) {
  const std::string_view start = text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF") throw InputError(file + ": is UTF-16 text (needs UTF-8)");
  if (text.find('\0') != std::string_view::npos) {
    throw InputError(file + ": is not text (it holds a zero byte; needs CSV)");
  }
}

/// Reads the first line that is neither a comment nor blank, and remembers the last comment before it. Notes name the
/// comments that could be rows.
std::vector<std::string> first_line(CsvFile& csv, Records& records) {
  std::vector<std::pair<std::size_t, std::size_t>> comments;  // a line, and how many cells it would have as a row
  while (records.next()) {
    if (records.comment()) {
      csv.comment_before = records.start().line;
      comments.emplace_back(csv.comment_before, records.cells_of_comment());
    } else if (!records.blank()) {
      for (const auto& [line, cells] : comments) {
        if (cells != records.cells().size()) continue;
        csv.notes.push_back("Line " + std::to_string(line) +
                            " begins with # and is left out as a comment, although it has as many cells as a row.");
      }
      return {records.cells().begin(), records.cells().end()};
    }
  }
  throw InputError(csv.file + ": is empty (needs a header line and rows of numbers)");
}

/// Records where every row begins, and refuses a row whose number of cells differs from the first line's.
void read_rows(CsvFile& csv, Records& records, std::size_t cells, Margins& margins) {
  std::size_t comments = 0, empty = 0;  // empty: the rows at the end whose cells are all empty
  std::optional<std::size_t> blank;
  while (records.next()) {
    const auto where = [&](std::size_t line) {
      return csv.file + ": row " + std::to_string(csv.rows.size() + 1) + " (line " + std::to_string(line) + ")";
    };
    if (records.blank()) {
      if (!blank) blank = records.start().line;
    } else if (records.comment()) {
      ++comments;
    } else if (blank) {
      throw InputError(where(*blank) + ": is blank (needs " + std::to_string(cells) + " cells)");
    } else if (records.cells().size() != cells) {
      throw_input_error(where(records.start().line), "has the wrong number of cells", records.cells().size(),
                        std::to_string(cells));
    } else {
      const bool is_empty = cells > 1 && empty_at_end(records.cells()) == cells;
      if (empty > 0 && !is_empty) margins.read(std::vector<std::string_view>(cells));
      if (!is_empty) margins.read(records.cells());
      empty = is_empty ? empty + 1 : 0;
      csv.rows.push_back(records.start());
    }
  }
  csv.rows.resize(csv.rows.size() - empty);
  if (empty > 0) {
    csv.notes.push_back(empty == 1 ? "The last row holds nothing and is left out."
                                   : "The last " + std::to_string(empty) + " rows hold nothing and are left out.");
  }
  if (comments > 0) {
    csv.notes.push_back(std::to_string(comments) +
                        (comments == 1 ? " line below the first begins with # and is left out as a comment."
                                       : " lines below the first begin with # and are left out as comments."));
  }
}

/// Whether a first line that is not 0, 1, 2, ... is a row. A mixture of names and numbers is refused.
bool is_row_of_numbers(const CsvFile& csv, Header header) {
  const auto& cells = csv.column_names;
  const auto numbers =
      std::count_if(cells.begin(), cells.end(), [&](const auto& cell) { return is_number_like(csv, cell); });
  const bool all = numbers == static_cast<std::ptrdiff_t>(cells.size());
  if (header == Header::required && all) {
    throw_input_error(csv.file, "first line holds numbers", cells.front(),
                      "a header line with the column names, or --no-header" +
                          (csv.comment_before == 0
                               ? std::string()
                               : "; line " + std::to_string(csv.comment_before) + " begins with # and is a comment"));
  }
  if (header == Header::optional && numbers > 0 && !all && !cells.front().empty()) {
    throw InputError(csv.file + ": first line mixes names and numbers (needs names, or a row of numbers)");
  }
  return all;
}

/// Whether a first line of 0, 1, 2, ... is a row of a square matrix; else it names the columns.
bool is_row_of_square(const CsvFile& csv, Header header) {
  const std::size_t columns = csv.column_names.size(), rows = csv.rows.size();
  if (header == Header::optional && rows + 1 == columns) return true;
  if (header == Header::required || rows == columns) return false;
  throw InputError(csv.file + ": the first line, 0 to " + csv.column_names.back() +
                   ", can be a row or the names of columns (needs a header line with names, or an .npy file)");
}

/// The text without a byte order mark, a first line "sep=;" as Excel writes it, and the end of file of DOS; where CR
/// alone ends lines, LF does.
std::string without_wrapping(std::string text) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);
  while (!text.empty() && text.back() == '\x1A') text.pop_back();
  if (text.find('\n') == std::string::npos) std::replace(text.begin(), text.end(), '\r', '\n');
  constexpr std::string_view separators = ";,\t";
  const std::size_t end = text.find_first_of("\r\n");
  if (text.starts_with("sep=") && end == 5 && separators.find(text[4]) != std::string_view::npos) {
    text.replace(0, end, end, ' ');
  }
  return text;
}

/// Whether the first line has words, none of them a number, and the next line one cell more.
bool names_all_but_first(const CsvFile& csv, CsvRow first) {
  const auto& names = csv.column_names;
  const auto is_number = [&](const auto& cell) { return is_number_like(csv, cell); };
  if (csv.separator != ' ' || std::any_of(names.begin(), names.end(), is_number)) return false;
  Records records(csv.file, csv.text, csv.separator);
  records.go_to(first);
  records.next();
  while (records.next()) {
    if (!records.comment() && !records.blank()) return records.cells().size() == csv.column_names.size() + 1;
  }
  return false;
}

}  // namespace

bool CsvFile::is_marker(std::string_view cell) const {
  const auto is_it = [&](const std::string& marker) {
    const auto number = parse_cell(marker, separator);
    return marker == cell || (number && number == parse_cell(cell, separator));
  };
  return std::any_of(missing.begin(), missing.end(), is_it);
}

bool CsvFile::is_missing(std::string_view cell) const { return names_missing(cell) || is_marker(cell); }

CsvFile parse_csv(const std::string& file, std::string text, Header header, std::vector<std::string> missing) {
  require_text(file, text);
  CsvFile csv{.file = file, .text = without_wrapping(std::move(text)), .missing = std::move(missing)};
  csv.separator = separator_of(csv.text, header);
  Records records(csv.file, csv.text, csv.separator);
  csv.column_names = first_line(csv, records);
  const CsvRow first = records.start();
  const bool names_rows = header != Header::absent && names_all_but_first(csv, first);
  if (names_rows) csv.column_names.insert(csv.column_names.begin(), "");
  const std::size_t cells = csv.cells = csv.column_names.size();
  records.expect(cells);
  const std::size_t unnamed = std::min(empty_at_end(csv.column_names), cells - 1);
  csv.column_names.resize(cells - unnamed);
  const std::string margin = csv.column_names.front();
  const bool counts = counts_from_zero(csv.column_names);
  bool row_first = header == Header::absent || (!counts && is_row_of_numbers(csv, header));
  if (row_first) csv.rows.push_back(first);
  const bool may_number_rows = header != Header::absent && (margin.empty() || margin == "Unnamed: 0");
  Margins margins(csv.column_names.size() > 1 && may_number_rows, unnamed);
  read_rows(csv, records, cells, margins);
  if (counts && !row_first && is_row_of_square(csv, header)) {
    row_first = true;
    csv.rows.insert(csv.rows.begin(), first);
  } else if (counts && !row_first) {
    csv.notes.push_back("The first line, 0 to " + csv.column_names.back() + ", names the columns.");
  }
  if (csv.rows.empty()) throw InputError(file + ": has a header line and no rows (needs rows of numbers)");
  if (!row_first && margins.last_empty() < unnamed) {
    throw InputError(file + ": column " + std::to_string(csv.column_names.size() + 1) +
                     " has no name in the header line (needs one)");
  }
  if (row_first) {
    csv.column_names.resize(cells - margins.last_empty());
    for (std::size_t j = 0; j < csv.column_names.size(); ++j) csv.column_names[j] = std::to_string(j + 1);
  }
  csv.row_numbers = names_rows || margins.numbers_rows();
  if (csv.separator == ' ' && !row_first && !names_rows) csv.notes.emplace_back("Blanks separate the cells.");
  if (names_rows) {
    csv.notes.emplace_back(
        "Blanks separate the cells, and the first cell, for which the header has no name, names the row.");
  } else if (csv.row_numbers) {
    csv.notes.push_back("The first column, " + (margin.empty() ? "without a name" : margin) +
                        ", numbers the rows and is left out.");
  }
  require_names(csv);
  return csv;
}

}  // namespace incontext::examples
