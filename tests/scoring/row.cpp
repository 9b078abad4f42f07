#include "incontext/scoring/row.hpp"

#include <Eigen/Core>
#include <array>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace incontext::testing {

using scoring::MatrixView;
using scoring::Row;

TEST_CASE("a row views contiguous containers and Eigen vectors of any stride", "[scoring]") {
  std::vector<double> list{1, 2, 3};
  const Row<double> row = list;
  CHECK(row.size == 3);
  row[1] = 7;
  CHECK(list[1] == 7);
  const Row<const double> reading = row;
  CHECK(reading[2] == 3);
  CHECK(reading.first(2).size == 2);

  Eigen::MatrixXd matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  const Row<const double> second = matrix.row(1);
  const Row<const double> column = matrix.col(2);
  REQUIRE(second.size == 3);
  REQUIRE(column.size == 2);
  for (int j = 0; j < 3; ++j) CHECK(second[j] == matrix(1, j));
  for (int i = 0; i < 2; ++i) CHECK(column[i] == matrix(i, 2));
  const std::array<float, 2> pair{5, 6};
  CHECK(Row<const float>(pair)[1] == 6);
}

TEST_CASE("a grid views Eigen matrices, blocks and transposes, and its rows and columns are rows", "[scoring]") {
  Eigen::MatrixXd matrix(3, 4);
  for (int i = 0; i < 12; ++i) matrix.data()[i] = i;
  const auto block = matrix.block(1, 1, 2, 3);
  const MatrixView<const double> grid = block;
  const auto turned = matrix.transpose();
  const MatrixView<const double> transposed = turned;
  REQUIRE(grid.rows == 2);
  REQUIRE(grid.columns == 3);
  REQUIRE(transposed.rows == 4);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      CHECK(grid(i, j) == block(i, j));
      CHECK(grid.row(i)[j] == block(i, j));
      CHECK(grid.column(j)[i] == block(i, j));
    }
  }
  CHECK(transposed(3, 1) == matrix(1, 3));
}

TEST_CASE("views are plain data, turn from mutable to constant and never back", "[scoring]") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<Row<double>>);
  STATIC_REQUIRE(std::is_trivially_copyable_v<MatrixView<const float>>);
  STATIC_REQUIRE(std::is_convertible_v<Row<double>, Row<const double>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Row<const double>, Row<double>>);
  STATIC_REQUIRE(std::is_convertible_v<MatrixView<double>, MatrixView<const double>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<MatrixView<const double>, MatrixView<double>>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Row<float>, Row<const double>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Row<double>, const std::vector<double>&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<Row<const double>, Eigen::MatrixXd&>);  // which elements would it be?
}

}  // namespace incontext::testing
