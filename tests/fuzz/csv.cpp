// The fuzzed bytes are a .csv file: with and without a header line, as data, as scores and with missing cells.

#include "examples/support/csv.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tests/fuzz/require.hpp"

namespace {

using namespace incontext::examples;
using incontext::fuzz::read_or_refuse;
using incontext::fuzz::require;

bool is_allowed(double value, Entries entries) {
  if (std::isfinite(value)) return true;
  return entries == Entries::masked ? value == -INFINITY : entries == Entries::missing && std::isnan(value);
}

void read(const std::string& text, Header header, Entries entries) {
  const CsvFile csv = parse_csv("f.csv", text, header);
  require(!csv.rows.empty() && !csv.column_names.empty(), "a file that is read has rows and columns");
  std::vector<std::size_t> columns(csv.column_names.size() - (csv.row_numbers ? 1 : 0));
  std::iota(columns.begin(), columns.end(), csv.row_numbers ? 1 : 0);
  const CsvNumbers numbers = numeric_columns(csv, columns, entries, {.missing = ", or x", .text = "x"});
  require(numbers.values.rows() == static_cast<Eigen::Index>(csv.rows.size()), "every row is read");
  for (const double value : numbers.values.reshaped()) require(is_allowed(value, entries), "every cell is a number");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const Header header : {Header::required, Header::optional}) {
    for (const Entries entries : {Entries::finite, Entries::masked, Entries::missing}) {
      read_or_refuse([&] { read(text, header, entries); });
    }
  }
  return 0;
}
