#include "examples/support/table.hpp"

#include <stdexcept>
#include <utility>

namespace incontext::examples {

void Table::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns.size()) throw std::logic_error("table '" + title + "': row and columns differ in number");
  rows.push_back(std::move(cells));
}

void Table::add_row(std::vector<Cell> cells, const std::vector<Cell>& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  add_row(std::move(cells));
}

}  // namespace incontext::examples
