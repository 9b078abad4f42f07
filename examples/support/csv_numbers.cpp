#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "examples/support/csv.hpp"
#include "examples/support/csv_records.hpp"
#include "examples/support/text.hpp"

// Converts the cells of chosen columns to numbers. What is not a number, and a comma that may be a decimal comma or
// separate thousands, is refused with its place and the ways out.

namespace incontext::examples {

namespace {

/// Turns cells into numbers, or refuses them.
class CellReader {
 public:
  CellReader(const CsvFile& csv, const std::vector<std::size_t>& columns, Entries entries, const WaysOut& ways_out)
      : csv_(csv), columns_(columns), entries_(entries), ways_out_(ways_out) {}

  double read(std::string_view cell, std::size_t row, std::size_t column) {
    const auto value = csv_.is_marker(cell) ? std::nullopt : parse_cell(cell, csv_.separator);
    if (value) {
      if (!std::isfinite(*value)) refuse(cell, row, column, "cell is not finite", "a finite number");
      if (csv_.separator != ',') require_one_mark(cell, row, column);
      return *value;
    }
    if (entries_ == Entries::missing && csv_.is_missing(cell)) return std::numeric_limits<double>::quiet_NaN();
    if (entries_ == Entries::masked && names_minus_infinity(cell)) return -INFINITY;
    if (csv_.is_missing(cell) && !names_non_finite(cell)) {
      refuse(cell, row, column, "cell is missing", "a finite number" + ways_out_.missing);
    }
    if (names_non_finite(cell)) {
      refuse(cell, row, column, "cell is not finite",
             entries_ == Entries::masked ? "a finite number, or -inf for a mask"
                                         : "a finite number" + (names_missing(cell) ? ways_out_.missing : ""));
    }
    if (!has_numbers(column)) refuse_text();
    refuse(cell, row, column, "cell is not a number", "a finite number" + remedy(cell, row));
  }

  bool decimal_comma() const { return comma_.has_value(); }

  /// Refuses commas all of which stand before three digits, because they may separate thousands.
  void require_clear_commas() const {
    if (!comma_ || !only_thousands_) return;
    Records records(csv_.file, csv_.text, csv_.separator, csv_.cells);
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

  /// What would make a number of the cell, or what it may be.
  std::string remedy(std::string_view cell, std::size_t row) const {
    constexpr std::string_view minus = "\xE2\x88\x92";  // U+2212
    if (cell.find(minus) != std::string_view::npos) return ", with a hyphen for the minus sign";
    std::string with_e(cell);
    std::replace(with_e.begin(), with_e.end(), 'D', 'E');
    if (parse_decimal(with_e)) return ", with E for the exponent";
    const bool both = cell.find(',') != std::string_view::npos && cell.find('.') != std::string_view::npos;
    if (both && cell.find_first_not_of("0123456789,.+-") == std::string_view::npos) {
      return ", without marks between thousands";
    }
    if (cell.find_first_of("0123456789") != std::string_view::npos || ways_out_.marker.empty()) return {};
    return ways_out_.marker + (row == 0 ? "; a line of units is a comment if it begins with #" : "");
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
    Records records(csv_.file, csv_.text, csv_.separator, csv_.cells);
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
  Records records(csv.file, csv.text, csv.separator, csv.cells);
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
