#include "examples/support/csv.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"

namespace csv_test {

using namespace incontext::examples;
using incontext::testing::message_of;
using incontext::testing::part;

namespace {

using Values = std::vector<double>;
using Names = std::vector<std::string>;

Values column_of(const CsvFile& csv, std::size_t column, Entries entries = Entries::finite) {
  const Eigen::MatrixXd values = numeric_columns(csv, {column}, entries).values;
  return {values.data(), values.data() + values.size()};
}

/// Parses the text and reads every column; returns the message of the refusal, or nothing.
std::string csv_refusal(const std::string& text, Header header = Header::required, Entries entries = Entries::finite) {
  return message_of<InputError>([&] {
    const CsvFile csv = parse_csv("f.csv", text, header);
    std::vector<std::size_t> all(csv.column_names.size() - (csv.row_numbers ? 1 : 0));
    std::iota(all.begin(), all.end(), csv.row_numbers ? 1 : 0);
    numeric_columns(csv, all, entries, {.missing = ", or --drop-missing", .text = "--without"});
  });
}

}  // namespace

TEST_CASE("a CSV file is read whatever its line ends, quotes and trailing blank lines", "[csv]") {
  const std::string text = GENERATE(as<std::string>{}, "a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4",
                                    "\xEF\xBB\xBF"
                                    "a,b\n1,2\n3,4\n\n\r\n",
                                    "\"a\",\"b\"\n\"1\",2\n 3 ,\t4\n", "\n\na,\tb\n1,2\n3,4\n");
  const CsvFile csv = parse_csv("f.csv", text);
  CHECK(csv.column_names == Names{"a", "b"});
  CHECK(column_of(csv, 0) == Values{1, 3});
  CHECK(column_of(csv, 1) == Values{2, 4});
  CHECK(csv.notes.empty());
}

TEST_CASE("quoted cells hold commas, doubled quotes and line ends, and later rows keep their line", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "\"the \"\"x\"\", in m\",note\n1,\"one, \"\"two\"\"\nthree\"\n2,plain\n");
  CHECK(csv.column_names == Names{"the \"x\", in m", "note"});
  CHECK(column_of(csv, 0) == Values{1, 2});
  CHECK(csv.rows[1].line == 4);
  CHECK(csv_refusal("name,x\n\"1\n\",1\n2,oops\n3,1\n") ==
        "f.csv: row 2 (line 4), column x: cell is not a number (value = \"oops\"; needs a finite number)");
}

TEST_CASE("a column nobody asks for may hold text", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "name,x\nanna,1.5\nbert,-2e3\n");
  CHECK(column_of(csv, 1) == Values{1.5, -2000});
}

TEST_CASE("semicolons and tabs separate where the header line has them, outside of quotes", "[csv]") {
  const std::string text = GENERATE(as<std::string>{}, "a, in m;b\n1;2\n3;4\n", "\"a;b\tc, d\",e\n1,2\n3,4\n",
                                    "a, in m\tb\n1\t2\n3\t4\n", "a;b\r\n1; 2\r\n3 ;4\r\n");
  const CsvFile csv = parse_csv("f.csv", text);
  CHECK(csv.column_names.size() == 2);
  CHECK(column_of(csv, 0) == Values{1, 3});
  CHECK(column_of(csv, 1) == Values{2, 4});
}

TEST_CASE("numbers have a decimal comma where commas do not separate, and only there", "[csv]") {
  for (const std::string separator : {";", "\t"}) {
    const CsvFile csv = parse_csv("f.csv", "a" + separator + "b\n1,5" + separator + "2\n-3,25e1" + separator + "4\n");
    CHECK(column_of(csv, 0) == Values{1.5, -32.5});
    CHECK(numeric_columns(csv, {0}, Entries::finite).decimal_comma);
    CHECK_FALSE(numeric_columns(csv, {1}, Entries::finite).decimal_comma);
  }
  CHECK(column_of(parse_csv("f.csv", "a;b\n1.5;2\n"), 0) == Values{1.5});
  CHECK(csv_refusal("a,b\n\"1,5\",2\n3,4\n") == part("column a: cell is not a number (value = \"1,5\";"));
}

TEST_CASE("commas all of which may separate thousands are refused", "[csv]") {
  CHECK(csv_refusal("a;b\n12,400;3\n-4,111;5\n") ==
        part("f.csv: row 1 (line 2), column a: has a comma that may separate thousands or decimals"));
  CHECK(csv_refusal("a\tb\n1,234\t2\n") == part("(value = \"1,234\"; needs a decimal point, or no commas)"));
  for (const char* clear : {"0,125", "1,25", "1234,567", "1,2345", "1,234e1"}) {
    CAPTURE(clear);
    const CsvFile csv = parse_csv("f.csv", "a;b\n1,234;2\n" + std::string(clear) + ";3\n", Header::required);
    CHECK(numeric_columns(csv, {0}, Entries::finite).values(0, 0) == 1.234);
  }
}

TEST_CASE("a comma between thousands is never read as a decimal comma beside a decimal point", "[csv]") {
  CHECK(csv_refusal("a;b\n1,234;2\n1.5;3\n") ==
        "f.csv: row 2 (line 3), column a: has a decimal point, and row 1 (line 2), column a a decimal comma "
        "(value = \"1.5\"; needs one of them everywhere)");
  CHECK(csv_refusal("a\tb\n1.5\t2\n1\t3,5\n") == part("row 2 (line 3), column b: has a decimal comma, and row 1"));
  CHECK(csv_refusal("a;b\n1.234,5;2\n1;2\n") == part("cell is not a number (value = \"1.234,5\";"));
  CHECK(csv_refusal("a;b\n1,234,5;2\n1;2\n") == part("cell is not a number"));
}

TEST_CASE("lines that begin with # are comments, and those among the rows are counted", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "# from a logger\n\n#\na,b\n1,2\n# pause, 3\n3,4\n# end\n");
  CHECK(csv.column_names == Names{"a", "b"});
  CHECK(column_of(csv, 0) == Values{1, 3});
  CHECK(csv.rows[1].line == 7);
  CHECK(csv.notes == Names{"2 lines below the first begin with # and are left out as comments."});
  // quotation marks in a comment do not open a cell
  CHECK(column_of(parse_csv("f.csv", "# 2\" pipes,\"a\na,b\n1,2\n# so,\"what\n3,4\n"), 1) == Values{2, 4});
  // the error value of a spreadsheet in the first column is a missing cell, not a comment
  CHECK(csv_refusal("a,b\n#N/A,2\n3,4\n") == part("row 1 (line 2), column a: cell is missing (value = \"#N/A\""));
  CHECK(csv_refusal("# a,b\n1,2\n") == part("first line holds numbers"));
  CHECK(csv_refusal("#id,b\n1,2\n") == part("; line 1 begins with # and is a comment"));
  CHECK(csv_refusal("# nothing else\n") == part("is empty"));
}

TEST_CASE("a row whose first cell begins with # is no comment", "[csv]") {
  for (const std::string cell : {"#DIV/0!", "#VALUE!", "#NAME?", "#REF!", "#NUM!", "#12", "#", "#\"x\""}) {
    CAPTURE(cell);
    CHECK(csv_refusal("a,b\n1,2\n" + cell + ",4\n5,6\n") == part("row 2 (line 3), column a: cell"));
    CHECK(csv_refusal("a;b\n1;2\n" + cell + ";4\n5;6\n") == part("row 2 (line 3), column a: cell"));
  }
  for (const std::string cell : {"#12", "#", "#\"x\""}) {
    CHECK(parse_csv("f.csv", "a,b,c\n1,2,3\n" + cell + ",4\n5,6,7\n", Header::required).rows.size() == 2);
  }
  CHECK(csv_refusal("a\tb\tc\n1\t2\t3\n#12\t5\t\n") == part("row 2 (line 3), column a: cell"));
  CHECK(csv_refusal("a,b,c\n1,2,3\n#5\" pipe,1,2\n") == part("row 2 (line 3), column a: cell"));
  CHECK(parse_csv("f.csv", "1 2\n#DIV/0! 4\n5  6\n", Header::absent).rows.size() == 3);
  // before the number of cells is known, an error value is a cell, and anything else a comment that a note names
  for (const std::string cell : {"#DIV/0!", "#VALUE!", "#NAME?", "#REF!", "#NUM!", "#SPILL!"}) {
    CAPTURE(cell);
    CHECK(csv_refusal("a,b,c\n1,2,3\n" + cell + ",4\n") == part("row 2 (line 3): has the wrong number of cells"));
    CHECK(csv_refusal("# measured\n" + cell + ",4\n5,6\n", Header::absent) == part("row 1 (line 2), column 1: cell"));
    CHECK(csv_refusal(cell + ",4\n5,6\n") == part("first line holds numbers (value = " + cell + ";"));
    CHECK(csv_refusal(cell + "\n5\n6\n", Header::optional) == part("row 1 (line 1), column 1: cell"));
  }
  const CsvFile headed = parse_csv("f.csv", "# two\n#12,4\n# more, and\n#13,4\n5,6\n", Header::absent);
  CHECK(headed.rows.size() == 1);
  const std::string left_out = " begins with # and is left out as a comment, although it has as many cells as a row.";
  CHECK(headed.notes == Names{"Line 2" + left_out, "Line 4" + left_out});
  CHECK(parse_csv("f.csv", "#12,4,\n5,6\n", Header::absent).notes.empty());
  CHECK(parse_csv("f.csv", "1 2\n#a note here\n5  6\n", Header::absent).rows.size() == 2);
}

TEST_CASE("an unnamed first column that numbers the rows is left out, and a note says so", "[csv]") {
  for (const std::string name : {"", "\"\"", "Unnamed: 0"}) {
    for (const std::string rows : {"0,5\n1,6\n2,8\n", "1,5\n2,6\n3,8\n", "\"7\",5\n\"2\",6\n\"4\",8\n"}) {
      const CsvFile csv = parse_csv("f.csv", name + ",x\n" + rows);
      CHECK(csv.row_numbers);
      CHECK(column_of(csv, 1) == Values{5, 6, 8});
      REQUIRE(csv.notes.size() == 1);
      CHECK(csv.notes[0] == part("numbers the rows and is left out."));
    }
  }
  // repeated numbers, fractions and text do not number rows
  for (const std::string rows : {"0,5\n0,6\n", "0.5,5\n1,6\n", "a,5\nb,6\n", "-1,5\n0,6\n", ",5\n1,6\n"}) {
    CHECK(csv_refusal(",x\n" + rows) == "f.csv: column 1 has no name in the header line (needs one)");
    CHECK_FALSE(parse_csv("f.csv", "Unnamed: 0,x\n" + rows).row_numbers);
  }
  CHECK_FALSE(parse_csv("f.csv", "index,x\n0,5\n1,6\n").row_numbers);
  CHECK_FALSE(parse_csv("f.csv", "Unnamed: 0\n0\n1\n").row_numbers);
}

TEST_CASE("blanks separate a header and its rows, and R's header is one name shorter", "[csv]") {
  for (const char* text : {"a b\n1 2\n3 4\n", "  a   b\n 1\t 2\n3  4\n", "\"a\" \"b\"\n1 2\n3 4\n",
                           "\"a\" \"b\"\n\"Ulm\" 1 2\n\"St. Blasien\" 3 4\n", "a b\n1 1 2\n2 3 4\n"}) {
    CAPTURE(text);
    const CsvFile csv = parse_csv("f.csv", text);
    CHECK(csv.row_numbers == (csv.cells == 3));
    CHECK(column_of(csv, csv.cells - 2) == Values{1, 3});
    CHECK(column_of(csv, csv.cells - 1) == Values{2, 4});
  }
  const CsvFile iris = parse_csv("f.csv", "\"a\" \"b\" \"kind\"\n\"1\" 1 2 \"se to\"\n\"2\" 3 4 \"vi\"\n");
  CHECK(iris.column_names == Names{"", "a", "b", "kind"});
  CHECK(column_of(iris, 2) == Values{2, 4});
  CHECK(parse_csv("f.csv", "a b\n1 ?\n2 3\n", Header::required, {"?"}).cells == 2);
  CHECK(parse_csv("f.csv", "a b\n1 2\n").notes == Names{"Blanks separate the cells."});
  CHECK(parse_csv("f.csv", "my column\n1\n2\n").column_names == Names{"my column"});
  CHECK(parse_csv("f.csv", "\"my column\"\n1\n2\n").column_names == Names{"my column"});
  CHECK(csv_refusal("sales\n1 200\n3 400\n") == part("column sales holds no number"));  // thousands, or names of rows
  CHECK(csv_refusal("Sales of a\n1 200\n3 400\n") == part("column Sales of a holds no number"));
  // a first line of numbers names nothing
  for (const char* ragged : {"1 0\n0 1 0\n0 0 1\n", "0.5 0.1\n0.2 0.3 0.4\n0.1 0.2 0.9\n"}) {
    CHECK(csv_refusal(ragged, Header::optional) == part("row 2 (line 2): has the wrong number of cells"));
    CHECK(csv_refusal(ragged) == part("first line holds numbers"));
  }
  CHECK(parse_csv("f.csv", "my column,b\n1,2\n").column_names == Names{"my column", "b"});
  CHECK(csv_refusal(" 0.006  18.00  2.31\n0.027  0.00  7.07\n") ==
        part("needs a header line with the column names, or --no"));
  CHECK(csv_refusal("a b\n1 2 3\n4 5\n") == part("row 2 (line 3): has the wrong number of cells (value = 2; needs 3)"));
}

TEST_CASE("what spreadsheets and old systems put around a table is no part of it", "[csv]") {
  for (const char* text : {"sep=;\na;b\n1;2\n3;4\n", "sep=;\r\na;b\r\n1;2\r\n3;4\r\n", "sep=\t\na\tb\n1\t2\n3\t4\n",
                           "a;b\r1;2\r3;4\r", "a;b\n1;2\n3;4\n\x1A", "a;b;;\n1;2;;\n3;4;;\n;;;\n;;;\n"}) {
    CAPTURE(text);
    const CsvFile csv = parse_csv("f.csv", text);
    CHECK(csv.column_names == Names{"a", "b"});
    CHECK(column_of(csv, 0) == Values{1, 3});
    CHECK(column_of(csv, 1) == Values{2, 4});
  }
  CHECK(parse_csv("f.csv", "a;b\n1;2\n;\n;\n").notes == Names{"The last 2 rows hold nothing and are left out."});
  CHECK(csv_refusal("a;b\n1;2\n;\n3;4\n") == part("row 2 (line 3), column a: cell is missing"));
  CHECK(csv_refusal("a,b\n,\n") == part("has a header line and no rows"));
}

TEST_CASE("what the user says stands for a missing number does, and a cell that is none is told what it may be",
          "[csv]") {
  const std::string text = "a,b\n1,?\n-9,4\n5,6\n";
  const CsvFile csv = parse_csv("f.csv", text, Header::required, {"?", "-9"});
  CHECK(std::isnan(column_of(csv, 1, Entries::missing)[0]));
  CHECK(std::isnan(column_of(csv, 0, Entries::missing)[1]));
  CHECK(message_of<InputError>([&] { column_of(csv, 0); }) == part("row 2 (line 3), column a: cell is missing"));
  CHECK(std::isnan(column_of(parse_csv("f.csv", "a\n-9.0\n1\n", Header::required, {"-9"}), 0, Entries::missing)[0]));
  CHECK(csv_refusal("a,b\n1,5days\n3,4\n") == part("needs a finite number)"));
  CHECK(csv_refusal(text) == part("(value = \"?\"; needs a finite number)"));
  CHECK(message_of<InputError>([&] { numeric_columns(csv, {1}, Entries::finite, {.missing = ", or X"}); }) ==
        part("row 1 (line 2), column b: cell is missing (value = \"?\"; needs a finite number, or X)"));
  CHECK(csv_refusal("a,b\n1,\xE2\x88\x92"
                    "2\n3,4\n") == part("needs a finite number, with a hyphen for the minus sign)"));
  CHECK(csv_refusal("a,b\n1,1.5D+00\n3,4\n") == part("needs a finite number, with E for the exponent)"));
  CHECK(csv_refusal("a;b\n1;1.299,99\n3;4\n") == part("needs a finite number, without marks between thousands)"));
}

TEST_CASE("a separator at the end of every line does not add a column", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "a,b,\n1,2,\n3,4, \n");
  CHECK(csv.column_names == Names{"a", "b"});
  CHECK(column_of(csv, 1) == Values{2, 4});
  CHECK(csv_refusal("a,b,\n1,2,\n3,4,5\n") == "f.csv: column 3 has no name in the header line (needs one)");
  CHECK(csv_refusal("a,b,\n1,2,\n3,4\n") == part("row 2 (line 3): has the wrong number of cells (value = 2; needs 3)"));
  CHECK(csv_refusal("a,b\n1,2,\n3,4,\n") == part("row 1 (line 2): has the wrong number of cells (value = 3; needs 2)"));
  CHECK(parse_csv("f.csv", "1,2,\n3,4,\n", Header::optional).rows.size() == 2);
  CHECK(parse_csv("f.csv", "1,2,,\n3,4,5,\n", Header::absent).column_names == Names{"1", "2", "3"});
}

TEST_CASE("a matrix of numbers needs no header line, whatever separates them", "[csv]") {
  const std::string text = GENERATE(as<std::string>{}, "1.5,2\n3,4\n", "1.5;2\n3;4\n", "1,5;2\n3;4\n", "1.5\t2\n3\t4\n",
                                    "1.5 2\n3 4\n", " 1.5e+00   2\r\n3\t 4 \r\n", "# rows\n1.5 2\n3 4\n");
  const CsvFile csv = parse_csv("f.csv", text, Header::optional);
  CHECK(csv.rows.size() == 2);
  CHECK(column_of(csv, 0) == Values{1.5, 3});
  CHECK(column_of(csv, 1) == Values{2, 4});
  CHECK(csv_refusal("1 2\n3 x\n5 6\n", Header::optional) ==
        part("row 2 (line 2), column 2: cell is not a number (value = \"x\""));
}

TEST_CASE("a first line that may be a row or names is never guessed", "[csv]") {
  const auto rows = [](const std::string& text) { return parse_csv("f.csv", text, Header::optional).rows.size(); };
  CHECK(rows("0,1\n1,0\n") == 2);       // square with the first line
  CHECK(rows("0,1\n1,0\n2,3\n") == 2);  // square without it: names, as pandas writes them
  CHECK(rows(",0,1\n0,1,0\n1,0,1\n") == 2);
  CHECK(csv_refusal("0,1\n1,2\n3,4\n5,6\n", Header::optional) == part("can be a row or the names of columns"));
  CHECK(csv_refusal("1,0.x5\n2,3\n", Header::optional) == part("first line mixes names and numbers"));
  CHECK(csv_refusal("1,NA\n2,3\n", Header::optional) == part("row 1 (line 1), column 2: cell is missing"));
  // a data set needs names, and 0, 1, 2, ... are accepted as names
  CHECK(parse_csv("f.csv", "0,1\n5,6\n").notes == Names{"The first line, 0 to 1, names the columns."});
  CHECK(csv_refusal("0\n5\n") == part("first line holds numbers"));
  CHECK(csv_refusal("0.5\n5\n") == part("needs a header line with the column names, or --no-header"));
}

TEST_CASE("where the user says that there is no header line, the first line is a row, whatever it holds", "[csv]") {
  const CsvFile csv = parse_csv("f.csv", "# x y\n0,1\n5,6\n7,8\n", Header::absent);
  CHECK(csv.column_names == Names{"1", "2"});
  CHECK(csv.notes.empty());
  CHECK(column_of(csv, 0) == Values{0, 5, 7});
  CHECK(column_of(csv, 1) == Values{1, 6, 8});
  CHECK(column_of(parse_csv("f.csv", "1.5 2\n3 4\n", Header::absent), 1) == Values{2, 4});
  CHECK(csv_refusal("a,b\n1,2\n", Header::absent) ==
        part("row 1 (line 1), column 1: cell is not a number (value = \"a\""));
}

TEST_CASE("Minus infinity is accepted in masked scores only, and no other value that is not finite is accepted",
          "[csv]") {
  const std::string text = "0.5,-inf\n1,2\n";
  CHECK(std::isinf(column_of(parse_csv("f.csv", text, Header::optional), 1, Entries::masked)[0]));
  CHECK(csv_refusal(text, Header::optional) == part("row 1 (line 1), column 2: cell is not finite (value = \"-inf\";"));
  CHECK(std::isinf(column_of(parse_csv("f.csv", "0.5,-INF\n1,2\n", Header::optional), 1, Entries::masked)[0]));
  for (const std::string bad : {"inf", "nan", "+inf", "1e999"}) {
    CHECK(csv_refusal("a\n1\n" + bad + "\n", Header::optional, Entries::masked) ==
          part("column a: cell is not finite"));
  }
}

TEST_CASE("a missing cell is NaN where missing cells are accepted, and is refused with a remedy elsewhere", "[csv]") {
  for (const std::string missing : {"", "NA", "n/a", "NaN", "null", "NULL", "None", "#N/A", "<NA>", "-nan"}) {
    CAPTURE(missing);
    const std::string text = "a,b\n1,2\n3," + missing + "\n";
    const Values values = column_of(parse_csv("f.csv", text), 1, Entries::missing);
    CHECK(values[0] == 2);
    CHECK(std::isnan(values[1]));
    CHECK(csv_refusal(text) == part("row 2 (line 3), column b: cell is "));
    CHECK(csv_refusal(text) == part("needs a finite number, or --drop-missing)"));
  }
  for (const std::string bad : {"inf", "?", ".", "missing"}) {
    CHECK_FALSE(csv_refusal("a,b\n1,2\n3," + bad + "\n", Header::required, Entries::missing).empty());
  }
}

TEST_CASE("columns of text are refused all at once, with what to do", "[csv]") {
  CHECK(csv_refusal("city,x,name\nUlm,1,anna\n,2,bert\n") ==
        "f.csv: columns city,name hold no number (needs numbers, or --without city,name)");
  CHECK(csv_refusal("city,x\nUlm,1\nJena,2\n") ==
        "f.csv: column city holds no number (needs numbers, or --without city)");
  // a single wrong cell among numbers is named
  CHECK(csv_refusal("city,x\nUlm,1\n7,2\n") == part("row 1 (line 2), column city: cell is not a number"));
}

TEST_CASE("refusals of a CSV file name the row, the line and the column", "[csv]") {
  CHECK(csv_refusal("a,b\n1,2\n3,\n") ==
        "f.csv: row 2 (line 3), column b: cell is missing (value = \"\"; needs a finite "
        "number, or --drop-missing)");
  CHECK(csv_refusal("a,b\n1,x7\n2,1\n") ==
        "f.csv: row 1 (line 2), column b: cell is not a number (value = \"x7\"; needs a finite number)");
  CHECK(csv_refusal("a,b\n1,-inf\n") ==
        "f.csv: row 1 (line 2), column b: cell is not finite (value = \"-inf\"; needs a finite number)");
  CHECK(csv_refusal("a,b\n1,1e999\n") == part("column b: cell is not finite"));
  CHECK(csv_refusal("a,b\n1,0x10\n1,1\n") == part("cell is not a number"));
  CHECK(csv_refusal("a,b\n1,1 2\n1,1\n") == part("cell is not a number"));
  CHECK(csv_refusal("a,b\n1,2\n3\n") == "f.csv: row 2 (line 3): has the wrong number of cells (value = 1; needs 2)");
  CHECK(csv_refusal("a,b\n1,2,3\n") == "f.csv: row 1 (line 2): has the wrong number of cells (value = 3; needs 2)");
  CHECK(csv_refusal("a,b\n1,2\n\n3,4\n") == "f.csv: row 2 (line 3): is blank (needs 2 cells)");
  CHECK(csv_refusal("a,b,a\n1,2,3\n") ==
        "f.csv: column name occurs twice in the header line (value = a; needs different names)");
  CHECK(csv_refusal("a,,c\n1,2,3\n") == part("column 2 has no name"));
  CHECK(csv_refusal("1,2\n3,4\n") == part("first line holds numbers"));
  CHECK(csv_refusal("a,b\n\"1,2\n3,4\n") == part("line 2: quoted cell is never closed"));
  CHECK(csv_refusal("") == part("is empty"));
  CHECK(csv_refusal("\n\n") == part("is empty"));
  CHECK(csv_refusal("a,b\n") == part("no rows"));
  CHECK(csv_refusal(std::string("a,b\n1,\0\n", 8)) == part("is not text"));
  CHECK(csv_refusal("\xFF\xFE" + std::string("a\0b\0", 4)) == part("is UTF-16 text"));
  // a message quotes only the beginning of a cell of a megabyte
  CHECK(csv_refusal("a,b\n1," + std::string(1 << 20, 'x') + "\n1,2\n").size() < 300);
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
  for (const char* text : {"", " ", "1 ", "nan", "inf", "-inf", "+-1", "+", "0x1p3", "1,5", "1e", "1e+", ".", "-",
                           "1.2.3", "1f", "-nan", "-.", "+.e1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decimal(text).has_value());
  }
}

}  // namespace csv_test
