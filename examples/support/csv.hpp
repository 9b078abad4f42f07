#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/text.hpp"

/// Tables of separated values: a header line with the column names, then one line per row, with the quoting of RFC 4180
/// and CRLF or LF. The separator is the semicolon, tab or comma that the header line has; numbers may have a decimal
/// comma where commas do not separate. Blanks separate where the header line has no other separator and at least two
/// words, and the next line as many words or one more, some of them numbers. With one more, the first column names the
/// rows, as in a file that R writes.
/// Lines that begin with # are comments, but for rows whose first cell does: those have as many cells as the first line
/// and no blank after the #.
namespace incontext::examples {

/// Whether the first line must name the columns, may be a row if it holds numbers, or is a row. Columns without names
/// are then called 1, 2, ..., as those of an array are.
enum class Header { required, optional, absent };

/// Where a row begins in the text; lines count from 1.
struct CsvRow {
  std::size_t offset;
  std::size_t line;
};

/// The text and the places of its rows. Cells are converted to numbers only on request, so that a large file is in
/// memory once.
struct CsvFile {
  std::string file;  ///< the name of the file in messages
  std::string text;
  char separator = ',';            ///< ' ' means any number of blanks
  std::size_t cells = 0;           ///< of a row
  std::size_t comment_before = 0;  ///< the line of the last comment before the first row; 0: none
  std::vector<std::string> column_names = {};
  bool row_numbers = false;  ///< the first column only numbers or names the rows, as pandas and R write them
  std::vector<std::string> missing = {};  ///< further words that stand for a missing number, from the user
  std::vector<CsvRow> rows = {};
  std::vector<std::string> notes = {};  ///< sentences about how the file was read

  /// Whether a cell is one of the user's words for a missing number; numbers are compared as numbers.
  bool is_marker(std::string_view cell) const;
  /// Whether a cell says that there is no number.
  bool is_missing(std::string_view cell) const;
};

/// Parses text; `file` is its name in messages. It refuses an empty file, a header without names or with a name
/// twice, a header of numbers (but for 0, 1, 2, ..., which NumPy's users get from pandas) where one is required, a row
/// with too few or too many cells, a blank line inside.
CsvFile parse_csv(const std::string& file, std::string text, Header header = Header::required,
                  std::vector<std::string> missing = {});

/// The cells that are accepted: finite numbers; also -inf, the mask of a score; or also missing ones, which become NaN.
enum class Entries { finite, masked, missing };

/// The options for a missing cell, for what stands for one, and for a column of text, for messages; "" if there is
/// none.
struct WaysOut {
  std::string missing = {};
  std::string marker = {};
  std::string text = {};
};

struct CsvNumbers {
  Eigen::MatrixXd values;
  bool decimal_comma = false;
};

/// The columns at these places as numbers, side by side. A missing cell, text, a number that is not finite, or a
/// decimal point beside decimal commas is refused by row, line and column name. Columns without any number are refused
/// all at once.
CsvNumbers numeric_columns(const CsvFile& csv, const std::vector<std::size_t>& columns, Entries entries,
                           const WaysOut& ways_out = {});

}  // namespace incontext::examples
