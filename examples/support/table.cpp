#include "examples/support/table.hpp"

#include <stdexcept>
#include <utility>

#include "examples/support/render.hpp"

namespace incontext::examples {

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns.size()) throw std::logic_error("table '" + title + "': row and columns differ in number");
  rows.push_back(std::move(cells));
}

void Table::add_row(std::vector<Cell> cells, const std::vector<Cell>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  add_row(std::move(cells));
}

std::string row_name(const Table& table, const std::vector<Cell>& row) {
  std::string name;
  const auto join = [&name](const std::string& part) {
    if (part.empty() || name == part || name.ends_with(", " + part)) return;  // "attention, τ = 1" in its column τ = 1
    name += (name.empty() ? "" : ", ") + part;
  };
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Column& column = table.columns[j];
    if (table.key_columns == 0 ? column.decimals_as != 0 : j == table.key_columns) break;
    const std::string heading = column.heading.empty() ? column.name : column.heading;
    if (const auto* text = std::get_if<std::string>(&row[j])) join(*text);
    if (const auto* count = std::get_if<std::int64_t>(&row[j])) join(heading + " = " + std::to_string(*count));
    if (const auto* number = std::get_if<double>(&row[j])) {
      join(heading + " = " + detail::number_text(*number, std::chars_format::general, 5));
    }
  }
  return name;
}

}  // namespace incontext::examples
