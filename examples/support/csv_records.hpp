#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/csv.hpp"

/// The cells of a table of separated values: how they are separated, where each one is, and the number that it holds.
namespace incontext::examples {

/// How cells are separated, from the first line that is neither a comment nor blank: ';', a tab, ',', or ' ' for any
/// number of blanks. Blanks separate if the line has no other separator, and begins with a number where it need not
/// name the columns, or has as many words as the next line or one fewer, of which one is a number. Separators inside
/// quotation marks do not count, and a tab beside a comma is a blank.
char separator_of(std::string_view text, Header header);

/// A number with a decimal point or, where commas do not separate, a decimal comma.
std::optional<double> parse_cell(std::string_view cell, char separator);

/// Whether a spreadsheet writes this for a number that it does not have: #DIV/0!, #NAME?.
bool is_error_value(std::string_view cell);

/// Reads the records one by one. Cells are views of the text, or of copies where quotation marks were removed; they are
/// valid until the next record is read.
class Records {
 public:
  /// `cells` is how many a row has, 0 while that is not known.
  Records(const std::string& file, std::string_view text, char separator, std::size_t cells = 0)
      : file_(file), text_(text), separator_(separator), cells_of_row_(cells) {}

  void expect(std::size_t cells) { cells_of_row_ = cells; }

  void go_to(CsvRow row) {
    at_ = row.offset;
    line_ = row.line;
  }

  /// Reads the next record; false at the end of the text.
  bool next();

  const std::vector<std::string_view>& cells() const { return cells_; }
  CsvRow start() const { return start_; }
  bool blank() const { return !comment_ && cells_.size() == 1 && cells_.front().empty(); }

  /// Whether the line begins with # and is no row: a row begins with a spreadsheet's error value, such as #DIV/0!, or has a
  /// row's number of cells and no blank after the #, once that number is known.
  bool comment() const { return comment_; }
  /// How many cells a comment would have as a row; 0 with a blank after the #.
  std::size_t cells_of_comment() const { return cells_of_comment_; }

 private:
  bool begins_comment();
  std::size_t cells_in_line() const;
  void split();
  void read_cell();
  /// A quoted cell may hold separators, doubled quotation marks and line ends.
  void read_quoted_cell();
  void split_at_blanks();

  const std::string& file_;
  std::string_view text_;
  char separator_;
  std::size_t cells_of_row_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  CsvRow start_ = {0, 1};
  bool comment_ = false;
  std::size_t cells_of_comment_ = 0;
  std::vector<std::string_view> cells_ = {};
  std::deque<std::string> copies_ = {};
};

}  // namespace incontext::examples
