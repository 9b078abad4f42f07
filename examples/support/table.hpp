#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

/// Tables of cells, independent of their layout.
namespace incontext::examples {

/// A cell of a comparison that depends on the verdict on its whole family; Judgment::settle replaces it.
struct Pending {
  enum class Field { z, verdict, reason };
  std::size_t comparison;
  Field field;
};

/// A cell: absent, a number, a count, a word, or not yet known.
using Cell = std::variant<std::monostate, double, std::int64_t, std::string, Pending>;

/// How a column of numbers is written as text: with decimal points under each other; each number as short as possible,
/// for values that the user chose; or with two decimals, for z.
enum class Style { aligned, shortest, two_decimals };

/// Whether the text report has a column: always; if one of its cells is filled; if one is, and the report is for the
/// audit; or never.
enum class InText { shown, where_filled, audit, hidden };

/// `name` is the stable key of CSV and JSON; `heading` is what the text table shows (the name with blanks, if empty).
struct Column {
  std::string name;
  std::string heading = {};
  std::string unit = {};
  int digits = 6;       ///< significant digits of the text table; CSV and JSON carry all 17
  int decimals_as = 0;  ///< columns with the same number (not 0) have equally many decimals
  Style style = Style::aligned;
  InText in_text = InText::shown;
};

/// The name of tables of negative controls.
inline constexpr const char* controls_name = "controls";

/// `name` is the short, stable key of CSV and JSON, in lower case with underscores; `title` is the sentence that people
/// read. The answer is one table of a report, with its notes. What a referee asks for, such as negative controls, second
/// opinions and remarks on the draws, is for the audit: JSON has it always, CSV its tables, and text with --audit.
struct Table {
  std::string name = {};
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> audit_notes = {};
  std::vector<std::string> draw_notes = {};  ///< on the simulation: judge() adds them to audit_notes if there was one
  std::size_t key_columns = 0;  ///< the number of leading columns that name a row; 0: those before a group of decimals
  bool audit = false;           ///< whether the whole table is for the audit

  void add_row(std::vector<Cell> cells);

  /// A row whose cells are in two parts, such as what names it and its comparison.
  void add_row(std::vector<Cell> cells, const std::vector<Cell>& more);
};

/// The name of a row: the words before its comparison, and the numbers with their headings.
std::string row_name(const Table& table, const std::vector<Cell>& row);

}  // namespace incontext::examples
