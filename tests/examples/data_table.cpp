#include "examples/support/data_table.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/temporary_folder.hpp"

namespace data_table_test {

using namespace incontext::examples;
using namespace incontext::testing;
using Names = std::vector<std::string>;

namespace {

Eigen::MatrixXd matrix(Eigen::Index rows, Eigen::Index columns, std::vector<double> values) {
  return Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(values.data(), rows, columns);
}

}  // namespace

TEST_CASE("a column that numbers the rows is read only if it is named", "[data_table]") {
  const TemporaryFolder folder;
  DataFile file(folder.write("f.csv", "Unnamed: 0,a,b\n0,5,6\n1,7,8\n"));
  CHECK(file.column_names() == Names{"a", "b"});
  CHECK(file.columns({"b"}) == matrix(2, 1, {6, 8}));
  CHECK(file.columns({"Unnamed: 0"}) == matrix(2, 1, {0, 1}));
}

TEST_CASE("on request, rows with a missing number in the columns that are read are left out", "[data_table]") {
  const TemporaryFolder folder;
  DataFile file(folder.write("f.csv", "a,b,c\n1,2,\n3,NA,4\nNaN,5,6\n7,8,9\n"));
  CHECK(file.rows() == 4);
  CHECK(file.complete_rows({"a", "b", "c"}) == matrix(1, 3, {7, 8, 9}));
  CHECK(file.complete_rows({"a", "b"}) == matrix(2, 2, {1, 2, 7, 8}));
  CHECK(message_of([&] {
          file.columns({"a", "b"}, {.missing = ", or --drop-missing"});
        }) == part("f.csv: row 2 (line 3), column b: cell is missing (value = \"NA\"; needs a finite number, or "
                   "--drop-missing)"));
  DataFile none(folder.write("g.csv", "a,b\n1,\n,2\n"));
  CHECK(message_of([&] { none.complete_rows({"a", "b"}); }) == part("g.csv: has no complete row (value = 2;"));

  DataFile array(folder.write("f.npy", npy_bytes(matrix(3, 2, {1, 2, NAN, 3, 4, 5}))));
  CHECK(array.complete_rows({"1", "2"}) == matrix(2, 2, {1, 2, 4, 5}));
  CHECK(message_of([&] {
          array.columns({"2", "1"}, {.missing = ", or --drop-missing"});
        }) ==
        part("f.npy: row 2, column 1: entry is not finite (value = nan; needs a finite number, or --drop-missing)"));
  CHECK(message_of([&] { array.columns({"3"}); }) == part("f.npy: has no such column (value = 3; needs 1 to 2)"));
  DataFile infinite(folder.write("g.npy", npy_bytes(matrix(1, 2, {1, INFINITY}))));
  CHECK(message_of([&] {
          infinite.complete_rows({"1", "2"});
        }) == part("row 1, column 2: entry is not finite (value = inf;"));
}

TEST_CASE("a note about decimal commas appears once a column with one is read", "[data_table]") {
  const TemporaryFolder folder;
  DataFile file(folder.write("f.csv", "a;b\n1,5;2\n3;4\n"));
  file.columns({"b"});
  CHECK(file.notes().empty());
  file.columns({"a"});
  CHECK(file.notes() == Names{"Numbers have a decimal comma."});
}

TEST_CASE("a column that is named twice or does not exist is refused", "[data_table]") {
  const TemporaryFolder folder;
  DataFile file(folder.write("f.csv", "a,b\n1,2\n"));
  CHECK(message_of([&] { file.columns({"a", "b", "a"}); }) == part("column is named twice (value = a;"));
  CHECK(message_of([&] { file.columns({"c"}); }) == part("has no such column (value = c; needs one of a, b)"));
  std::string many = "x0";
  for (int i = 1; i < 1000; ++i) many += ",x" + std::to_string(i);
  DataFile wide(folder.write("g.csv", many + "\n" + many + "\n"));
  CHECK(message_of([&] { wide.columns({"c"}); }).size() < 400);
}

TEST_CASE("scores are the same from every kind of file, and an array of one dimension is one query", "[data_table]") {
  const TemporaryFolder folder;
  const Eigen::MatrixXd expected = matrix(2, 2, {0.5, -INFINITY, 1.5, 2});
  for (const std::string text :
       {"0.5,-inf\n1.5,2\n", "0.5 -inf\n1.5 2\n", "0,5;-inf\n1,5;2\n", "a,b\n0.5,-inf\n1.5,2\n"}) {
    CHECK(read_scores(folder.write("s.csv", text)).values == expected);
  }
  CHECK(read_scores(folder.write("s.npy", npy_bytes(expected))).values == expected);
  std::string vector = npy_bytes(matrix(1, 2, {1, 2}));
  vector.replace(vector.find("(1, 2), "), 8, "(2,),   ");
  CHECK(read_scores(folder.write("v.npy", vector)).values == matrix(1, 2, {1, 2}));
  CHECK(read_matrix(folder.write("v.npy", vector)).values == matrix(2, 1, {1, 2}));
  // a matrix of one column holds many queries with one key each
  CHECK(read_scores(folder.write("c.npy", npy_bytes(matrix(2, 1, {1, 2})))).values == matrix(2, 1, {1, 2}));
  for (const double none : {std::nan(""), double{INFINITY}}) {
    CHECK(message_of([&] {
            read_scores(folder.write("n.npy", npy_bytes(matrix(2, 2, {1, 2, none, 1}))));
          }) == part("n.npy: row 2, column 1: entry is not finite"));
  }
  CHECK(message_of([&] { read_matrix(folder.file("s.npy")); }) == part("s.npy: row 1, column 2: entry is not finite"));
}

TEST_CASE("a row's finite masks are hidden by the rule of calibrate, and what may be a score is refused",
          "[data_table]") {
  const auto hidden = [](std::vector<double> row) {
    hide_finite_masks(row, "f.csv: row 1");
    return row;
  };
  for (const double mask : {-1e4, -65504.0, -1e9, -3.4028234663852886e38, -1.7976931348623157e308}) {
    CAPTURE(mask);
    CHECK(hidden({0.5, mask, -20, mask - 3}) == std::vector<double>{0.5, -INFINITY, -20, -INFINITY});
  }
  CHECK(hidden({0.5, -INFINITY, -4999}) == std::vector<double>{0.5, -INFINITY, -4999});
  CHECK(hidden({-INFINITY, -INFINITY}) == std::vector<double>{-INFINITY, -INFINITY});
  const auto refusal = [&](const std::vector<double>& row) { return message_of([&] { hidden(row); }); };
  CHECK(refusal({0.3, -400, -52000}) ==
        part("f.csv: row 1: a score is too low for a score and too near to the others"));
  CHECK(refusal({0.3, -400, -52000}) == part("or --no-finite-masks if every finite score is a score"));
  CHECK(refusal({-10000, -10001}) == part("f.csv: row 1: every score is low enough for a mask (value = -10000;"));
}

}  // namespace data_table_test
