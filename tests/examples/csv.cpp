#include "examples/support/csv.hpp"

#include <string>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::testing::part;

namespace {

std::string csv_refusal(const std::string& text, const std::string& column = "") {
  try {
    const CsvFile csv = parse_csv("f.csv", text);
    if (!column.empty()) numeric_column(csv, column);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a CSV file is read whatever its line ends, quotes and trailing blank lines", "[csv]") {
  const std::string text = GENERATE(as<std::string>{}, "a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4",
                                    "\xEF\xBB\xBF"
                                    "a,b\n1,2\n3,4\n\n\r\n",
                                    "\"a\",\"b\"\n\"1\",2\n 3 ,\t4\n");
  const CsvFile csv = parse_csv("f.csv", text);
  CHECK(csv.column_names == std::vector<std::string>{"a", "b"});
  CHECK(numeric_column(csv, "a") == std::vector<double>{1, 3});
  CHECK(numeric_column(csv, "b") == std::vector<double>{2, 4});
}

TEST_CASE("quoted cells hold commas, doubled quotes and line ends, and later rows keep their line", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "name,x\n\"one, \"\"two\"\"\nthree\",1\nplain,oops\n");
  CHECK(csv.rows[0][0] == "one, \"two\"\nthree");
  CHECK(csv.lines == std::vector<std::size_t>{2, 4});
  CHECK(csv_refusal("name,x\n\"a\nb\",1\nc,oops\n", "x") ==
        "f.csv: row 2 (line 4), column x: cell is not a number (value = \"oops\"; needs a finite number)");
}

TEST_CASE("a column nobody asks for may hold text", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "name,x\nanna,1.5\nbert,-2e3\n");
  CHECK(numeric_column(csv, "x") == std::vector<double>{1.5, -2000});
}

TEST_CASE("refusals of a CSV file name the row, the line and the column", "[csv]") {
  CHECK(csv_refusal("a,b\n1,2\n3,\n", "b") ==
        "f.csv: row 2 (line 3), column b: cell is missing (value = \"\"; needs a finite number)");
  CHECK(csv_refusal("a,b\n1,x7\n", "b") ==
        "f.csv: row 1 (line 2), column b: cell is not a number (value = \"x7\"; needs a finite number)");
  CHECK(csv_refusal("a,b\n1,nan\n", "b") ==
        "f.csv: row 1 (line 2), column b: cell is not finite (value = \"nan\"; needs a finite number)");
  CHECK(csv_refusal("a,b\n1,-inf\n", "b") == part("column b: cell is not finite"));
  CHECK(csv_refusal("a,b\n1,1e999\n", "b") == part("column b: cell is not finite"));
  CHECK(csv_refusal("a,b\n1,0x10\n", "b") == part("cell is not a number"));
  CHECK(csv_refusal("a,b\n1,1 2\n", "b") == part("cell is not a number"));
  CHECK(csv_refusal("a,b\n1,2\n", "c") == "f.csv: has no such column (value = c; needs one of a, b)");
  CHECK(csv_refusal("a,b\n1,2\n3\n") == "f.csv: row 2 (line 3): has the wrong number of cells (value = 1; needs 2)");
  CHECK(csv_refusal("a,b\n1,2,3\n") == "f.csv: row 1 (line 2): has the wrong number of cells (value = 3; needs 2)");
  CHECK(csv_refusal("a,b\n1,2\n\n3,4\n") == part("row 2 (line 3): is blank"));
  CHECK(csv_refusal("a,b,a\n1,2,3\n") ==
        "f.csv: column name stands twice in the header line (value = a; needs different names)");
  CHECK(csv_refusal("a,,c\n1,2,3\n") == part("column 2 has no name"));
  CHECK(csv_refusal("1,2\n3,4\n") == part("first line holds numbers"));
  CHECK(csv_refusal("a,b\n\"1,2\n3,4\n") == part("line 2: quoted cell is never closed"));
  CHECK(csv_refusal("") == part("is empty"));
  CHECK(csv_refusal("\n\n") == part("is empty"));
  CHECK(csv_refusal("a,b\n") == part("no rows"));
  CHECK(csv_refusal(std::string("a,b\n1,\0\n", 8)) == part("is not text"));
}

TEST_CASE("decimal numbers are rounded correctly and nothing else is a number", "[csv]") {
  CHECK(parse_decimal("0.1") == 0.1);
  CHECK(parse_decimal("+2.5E-3") == 0.0025);
  CHECK(parse_decimal("-.5") == -0.5);
  CHECK(parse_decimal("7.") == 7.0);
  CHECK(parse_decimal("9007199254740993") == 9007199254740992.0);
  // Halfway between two doubles but for the last digit: a parser that rounds twice gets one of these wrong.
  CHECK(parse_decimal("1.00000000000000011102230246251565404236316680908203124") == 1.0);
  CHECK(parse_decimal("1.00000000000000011102230246251565404236316680908203126") > 1.0);
  CHECK(parse_decimal("1e-400") == 0.0);
  CHECK(*parse_decimal("1e400") > 1.7976931348623157e308);
  for (const char* text : {"", " ", "1 ", "nan", "inf", "0x1p3", "1,5", "1e", "1e+", ".", "-", "1.2.3", "1f"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decimal(text).has_value());
  }
}
