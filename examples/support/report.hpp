#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

/// What a program has to say, before anybody decides how it looks: tables of cells, notes, and a verdict.
namespace incontext::examples {

/// Anything JSON can hold; a text table shows it on one line.
struct Nested {
  nlohmann::ordered_json value;
};

/// An absent cell, a number, a count, a word, or something nested.
using Cell = std::variant<std::monostate, double, std::int64_t, std::string, Nested>;

/// How a column of numbers looks as text: decimal points under each other, as short as it gets (for the values somebody
/// chose), or two decimals (for z).
enum class Style { aligned, shortest, two_decimals };

/// `name` is the stable key of CSV and JSON; `heading` is what the text table shows (the name with blanks, if empty).
struct Column {
  std::string name;
  std::string heading = {};
  std::string unit = {};
  int digits = 6;       ///< significant digits of the text table; CSV and JSON carry all 17
  int decimals_as = 0;  ///< columns with the same number (not 0) share their count of decimals
  Style style = Style::aligned;
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};
  std::vector<std::string> notes = {};

  void add_row(std::vector<Cell> cells) {
    if (cells.size() != columns.size())
      throw std::logic_error("table '" + title + "': row and columns differ in number");
    rows.push_back(std::move(cells));
  }
};

/// `agrees` decides the exit code; `text` is the line people read; the numbers are null where nothing was judged.
struct Verdict {
  bool agrees = true;
  std::string text = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

struct Report {
  std::string program;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  std::vector<Table> tables = {};
  Verdict verdict = {};
};

}  // namespace incontext::examples
