#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/text.hpp"

/// Comma-separated values: a header line with the column names, then one line a row; RFC 4180 quoting, CRLF or LF.
namespace incontext::examples {

/// The cells as text: a column is turned into numbers only when somebody asks for it.
struct CsvFile {
  std::string file;
  std::vector<std::string> column_names;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines;  ///< the line each row starts on, 1-based
};

/// Parses CSV text; `file` is the name the refusals carry. Refused: an empty file, a header without names or with a
/// name twice, a header of numbers (no header at all), a row with too few or too many cells, a blank line inside.
CsvFile parse_csv(const std::string& file, std::string_view text);

CsvFile read_csv(const std::string& path);

/// One column as numbers. Refused by row, line and column name: a missing cell, text, a number that is not finite.
std::vector<double> numeric_column(const CsvFile& csv, const std::string& name);

}  // namespace incontext::examples
