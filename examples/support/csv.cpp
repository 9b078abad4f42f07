#include "examples/support/csv.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Reads the records one by one. Cells are views of the text, or of copies where quotation marks were removed; they are
/// valid until the next record is read.
class Records {
 public:
  Records(const std::string& file, std::string_view text, char separator)
      : file_(file), text_(text), separator_(separator) {}

  void go_to(CsvRow row) {
    at_ = row.offset;
    line_ = row.line;
  }

  /// Reads the next record; false at the end of the text.
  bool next() {
    if (at_ >= text_.size()) return false;
    start_ = {at_, line_};
    cells_.clear();
    copies_.clear();
    comment_ = begins_comment();
    if (comment_) {
      at_ = std::min(text_.find('\n', at_), text_.size());  // quotation marks have no meaning in a comment
    } else if (separator_ == ' ') {
      split_at_blanks();
    } else {
      split();
    }
    if (at_ < text_.size()) {
      ++at_;  // the line's end
      ++line_;
    }
    return true;
  }

  const std::vector<std::string_view>& cells() const { return cells_; }
  CsvRow start() const { return start_; }
  bool blank() const { return !comment_ && cells_.size() == 1 && cells_.front().empty(); }

  /// Whether the line begins with #, but not with a spreadsheet's #N/A.
  bool comment() const { return comment_; }

 private:
  bool begins_comment() const {
    if (text_[at_] != '#') return false;
    const std::size_t end = std::min(text_.find_first_of(std::string{separator_, '\n'}, at_), text_.size());
    return !names_missing(trimmed(text_.substr(at_, end - at_)));
  }

  void split() {
    for (;;) {
      read_cell();
      if (at_ >= text_.size() || text_[at_] != separator_) return;
      ++at_;
    }
  }

  void read_cell() {
    if (at_ < text_.size() && text_[at_] == '"') {
      read_quoted_cell();
      return;
    }
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    cells_.push_back(trimmed(text_.substr(first, at_ - first)));
  }

  /// A quoted cell may hold separators, doubled quotation marks and line ends.
  void read_quoted_cell() {
    std::string& cell = copies_.emplace_back();
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) {
        throw InputError(file_ + ": line " + std::to_string(start_.line) +
                         ": quoted cell is never closed (needs a second quotation mark)");
      }
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        cell += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        cell += text_[++at_];
      } else {
        ++at_;
        break;
      }
    }
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') cell += text_[at_++];
    cells_.push_back(trimmed(cell));
  }

  void split_at_blanks() {
    while (at_ < text_.size() && text_[at_] != '\n') {
      const std::size_t first = at_;
      while (at_ < text_.size() && text_[at_] != '\n' && !is_blank(text_[at_])) ++at_;
      if (at_ > first) cells_.push_back(text_.substr(first, at_ - first));
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    }
    if (cells_.empty()) cells_.emplace_back();
  }

  const std::string& file_;
  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  CsvRow start_ = {0, 1};
  bool comment_ = false;
  std::vector<std::string_view> cells_ = {};
  std::deque<std::string> copies_ = {};
};

/// A number with a decimal point or, where commas do not separate, a decimal comma.
std::optional<double> parse_cell(std::string_view cell, char separator) {
  const std::size_t comma = separator == ',' ? std::string_view::npos : cell.find(',');
  if (comma == std::string_view::npos) return parse_decimal(cell);
  std::string with_point(cell);
  if (with_point.find('.') != std::string::npos) return std::nullopt;
  with_point[comma] = '.';
  return parse_decimal(with_point);
}

/// The first line that is neither a comment nor blank, and how its cells are separated. Separators
/// inside quotation marks do not count, and a tab beside a comma is a blank.
char separator_of(std::string_view text, Header header) {
  std::string_view line;
  for (bool found = false; !found && !text.empty();) {
    line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    found = !trimmed(line).empty() && line.front() != '#';
  }
  line = trimmed(line);
  std::string bare;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (!quoted && c != ' ') bare += c;
  }
  if (bare.find(';') != std::string::npos) return ';';
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const bool beside_comma = (i > 0 && bare[i - 1] == ',') || (i + 1 < bare.size() && bare[i + 1] == ',');
    if (bare[i] == '\t' && !beside_comma) return '\t';
  }
  if (bare.find(',') != std::string::npos || header == Header::required) return ',';
  const std::string_view first = line.substr(0, line.find(' '));
  return parse_decimal(first) || names_non_finite(first) ? ' ' : ',';
}

/// "0", "1", "2", ..., as pandas names the columns of an array.
bool counts_from_zero(const std::vector<std::string>& names) {
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (names[j] != std::to_string(j)) return false;
  }
  return names.size() > 1;
}

bool is_number_like(std::string_view cell, char separator) {
  return parse_cell(cell, separator) || names_non_finite(cell) || (!cell.empty() && names_missing(cell));
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

/// Whether the first column holds distinct whole numbers, and whether the last one is empty.
class Margins {
 public:
  explicit Margins(bool may_number_rows) : numbers_rows_(may_number_rows) {}
  void read(const std::vector<std::string_view>& cells) {
    last_empty_ = last_empty_ && cells.back().empty();
    if (!numbers_rows_) return;
    const auto number = parse_decimal(cells.front());
    numbers_rows_ = number && *number >= 0 && *number == std::floor(*number) && seen_.insert(*number).second;
  }
  bool numbers_rows() const { return numbers_rows_; }
  bool last_empty() const { return last_empty_; }

 private:
  bool numbers_rows_;
  bool last_empty_ = true;
  std::unordered_set<double> seen_ = {};
};

void require_text(const std::string& file, std::string_view text) {
  const std::string_view start = text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF") throw InputError(file + ": is UTF-16 text (needs UTF-8)");
  if (text.find('\0') != std::string_view::npos) {
    throw InputError(file + ": is not text (it holds a zero byte; needs CSV)");
  }
}

/// Reads the first line that is neither a comment nor blank.
std::vector<std::string> first_line(const CsvFile& csv, Records& records) {
  while (records.next()) {
    if (!records.comment() && !records.blank()) return {records.cells().begin(), records.cells().end()};
  }
  throw InputError(csv.file + ": is empty (needs a header line and rows of numbers)");
}

/// Records where every row begins, and refuses a row whose number of cells differs from the first line's.
void read_rows(CsvFile& csv, Records& records, std::size_t cells, Margins& margins) {
  std::size_t comments = 0;
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
      margins.read(records.cells());
      csv.rows.push_back(records.start());
    }
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
      std::count_if(cells.begin(), cells.end(), [&](const auto& cell) { return is_number_like(cell, csv.separator); });
  const bool all = numbers == static_cast<std::ptrdiff_t>(cells.size());
  if (header == Header::required && all) {
    throw_input_error(csv.file, "first line holds numbers", cells.front(),
                      "a header line with the column names, or --no-header");
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

}  // namespace

CsvFile parse_csv(const std::string& file, std::string text, Header header) {
  if (text.compare(0, 3, "\xEF\xBB\xBF") == 0) text.erase(0, 3);
  require_text(file, text);
  CsvFile csv{.file = file, .text = std::move(text)};
  csv.separator = separator_of(csv.text, header);
  Records records(csv.file, csv.text, csv.separator);
  csv.column_names = first_line(csv, records);
  const CsvRow first = records.start();
  const std::size_t cells = csv.column_names.size();
  if (cells > 1 && csv.column_names.back().empty()) {
    csv.column_names.pop_back();
    csv.trailing_separator = true;
  }
  const std::string margin = csv.column_names.front();
  const bool counts = counts_from_zero(csv.column_names);
  bool row_first = header == Header::absent || (!counts && is_row_of_numbers(csv, header));
  if (row_first) csv.rows.push_back(first);
  const bool may_number_rows = header != Header::absent && (margin.empty() || margin == "Unnamed: 0");
  Margins margins(csv.column_names.size() > 1 && may_number_rows);
  read_rows(csv, records, cells, margins);
  if (counts && !row_first && is_row_of_square(csv, header)) {
    row_first = true;
    csv.rows.insert(csv.rows.begin(), first);
  } else if (counts && !row_first) {
    csv.notes.push_back("The first line, 0 to " + csv.column_names.back() + ", names the columns.");
  }
  if (csv.rows.empty()) throw InputError(file + ": has a header line and no rows (needs rows of numbers)");
  if (csv.trailing_separator && !margins.last_empty()) {
    throw InputError(file + ": column " + std::to_string(cells) + " has no name in the header line (needs one)");
  }
  if (row_first) {
    for (std::size_t j = 0; j < csv.column_names.size(); ++j) csv.column_names[j] = std::to_string(j + 1);
  }
  csv.row_numbers = margins.numbers_rows();
  if (csv.row_numbers) {
    csv.notes.push_back("The first column, " + (margin.empty() ? "without a name" : margin) +
                        ", numbers the rows and is left out.");
  }
  require_names(csv);
  return csv;
}

namespace {

/// Turns cells into numbers, or refuses them.
class CellReader {
 public:
  CellReader(const CsvFile& csv, const std::vector<std::size_t>& columns, Entries entries, const WaysOut& ways_out)
      : csv_(csv), columns_(columns), entries_(entries), ways_out_(ways_out) {}

  double read(std::string_view cell, std::size_t row, std::size_t column) {
    if (const auto value = parse_cell(cell, csv_.separator)) {
      if (!std::isfinite(*value)) refuse(cell, row, column, "cell is not finite", "a finite number");
      if (csv_.separator != ',') require_one_mark(cell, row, column);
      return *value;
    }
    if (entries_ == Entries::missing && names_missing(cell)) return std::numeric_limits<double>::quiet_NaN();
    if (entries_ == Entries::masked && (cell == "-inf" || cell == "-Infinity")) return -INFINITY;
    if (names_missing(cell) && !names_non_finite(cell)) {
      refuse(cell, row, column, "cell is missing", "a finite number" + ways_out_.missing);
    }
    if (names_non_finite(cell)) {
      refuse(cell, row, column, "cell is not finite",
             entries_ == Entries::masked ? "a finite number, or -inf for a mask"
                                         : "a finite number" + (names_missing(cell) ? ways_out_.missing : ""));
    }
    if (!has_numbers(column)) refuse_text();
    refuse(cell, row, column, "cell is not a number", "a finite number");
  }

  bool decimal_comma() const { return comma_.has_value(); }

  /// Refuses commas all of which stand before three digits, because they may separate thousands.
  void require_clear_commas() const {
    if (!comma_ || !only_thousands_) return;
    Records records(csv_.file, csv_.text, csv_.separator);
    records.go_to(csv_.rows[comma_->row]);
    records.next();
    refuse(records.cells()[comma_->column], comma_->row, comma_->column,
           "has a comma that may separate thousands or decimals, as every other number with a comma",
           "a decimal point, or no commas");
  }

 private:
  struct Place {
    std::size_t row;
    std::size_t column;
  };

  std::string in_words(Place at) const {
    return "row " + std::to_string(at.row + 1) + " (line " + std::to_string(csv_.rows[at.row].line) + "), column " +
           shown(csv_.column_names[at.column]);
  }

  [[noreturn]] void refuse(std::string_view cell, std::size_t row, std::size_t column, std::string_view problem,
                           const std::string& needs) const {
    throw_input_error(csv_.file + ": " + in_words({row, column}), problem, '"' + shown(cell) + '"', needs);
  }

  /// One to three digits, not beginning with 0, a comma and three digits: 12,400.
  static bool like_thousands(std::string_view cell) {
    const std::size_t sign = cell.front() == '-' || cell.front() == '+' ? 1 : 0, comma = cell.find(',');
    const std::string_view before = cell.substr(sign, comma - sign), after = cell.substr(comma + 1);
    constexpr std::string_view digits = "0123456789";
    return !before.empty() && before.size() <= 3 && before.front() != '0' && after.size() == 3 &&
           before.find_first_not_of(digits) == std::string_view::npos &&
           after.find_first_not_of(digits) == std::string_view::npos;
  }

  /// Refuses a decimal comma beside a decimal point, because one of them may separate thousands.
  void require_one_mark(std::string_view cell, std::size_t row, std::size_t column) {
    const bool comma = cell.find(',') != std::string_view::npos, point = cell.find('.') != std::string_view::npos;
    if (comma && !comma_) comma_ = {row, column};
    if (comma && !like_thousands(cell)) only_thousands_ = false;
    if (point && !point_) point_ = {row, column};
    if ((!comma && !point) || !comma_ || !point_) return;
    refuse(cell, row, column,
           comma ? "has a decimal comma, and " + in_words(*point_) + " a decimal point"
                 : "has a decimal point, and " + in_words(*comma_) + " a decimal comma",
           "one of them everywhere");
  }

  bool has_numbers(std::size_t column) const {
    Records records(csv_.file, csv_.text, csv_.separator);
    return std::any_of(csv_.rows.begin(), csv_.rows.end(), [&](CsvRow row) {
      records.go_to(row);
      records.next();
      return parse_cell(records.cells()[column], csv_.separator).has_value();
    });
  }

  [[noreturn]] void refuse_text() const {
    std::string names;
    std::size_t count = 0;
    for (const std::size_t column : columns_) {
      if (has_numbers(column)) continue;
      names += (count == 0 ? "" : ",") + csv_.column_names[column];
      ++count;
    }
    throw InputError(csv_.file + (count == 1 ? ": column " : ": columns ") + shown(names, 200) +
                     (count == 1 ? " holds" : " hold") + " no number (needs numbers" +
                     (ways_out_.text.empty() ? "" : ", or " + ways_out_.text + " " + shown(names, 200)) + ")");
  }

  const CsvFile& csv_;
  const std::vector<std::size_t>& columns_;
  Entries entries_;
  const WaysOut& ways_out_;
  std::optional<Place> comma_ = {}, point_ = {};
  bool only_thousands_ = true;
};

}  // namespace

CsvNumbers numeric_columns(const CsvFile& csv, const std::vector<std::size_t>& columns, Entries entries,
                           const WaysOut& ways_out) {
  Eigen::MatrixXd values(static_cast<Eigen::Index>(csv.rows.size()), static_cast<Eigen::Index>(columns.size()));
  Records records(csv.file, csv.text, csv.separator);
  CellReader reader(csv, columns, entries, ways_out);
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    records.go_to(csv.rows[i]);
    records.next();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          reader.read(records.cells()[columns[j]], i, columns[j]);
    }
  }
  reader.require_clear_commas();
  return {std::move(values), reader.decimal_comma()};
}

}  // namespace incontext::examples
