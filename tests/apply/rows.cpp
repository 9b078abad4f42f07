#include "incontext/apply/rows.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;

namespace {

/// The map of one row applied to every row, with zeros for the keys that a row does not see.
template <class T, class Work>
Matrix<T> row_by_row(const Matrix<T>& scores, const std::vector<std::int64_t>& counts, std::ptrdiff_t gap, Work work) {
  Matrix<T> out(scores.rows, scores.columns, gap);
  for (std::ptrdiff_t i = 0; i < scores.rows; ++i) {
    const auto seen = static_cast<std::ptrdiff_t>(counts[static_cast<std::size_t>(i)]);
    const Row<T> row = out.out().row(i);
    for (std::ptrdiff_t j = 0; j < scores.columns; ++j) row[j] = T(0);
    work(i, seen, row.first(seen));
  }
  return out;
}

template <class Map>
void check_all_work(const Map& map, std::ptrdiff_t rows, std::ptrdiff_t columns, const Options& options,
                    const std::vector<std::int64_t>& counts) {
  using T = typename Map::value_type;
  Random random(static_cast<std::uint64_t>(rows * 1000 + columns));
  Matrix<T> scores(rows, columns, 5), direction(rows, columns, 2);
  scores.fill_normal(random, 2);
  direction.fill_normal(random);
  const auto seen_row = [](const Matrix<T>& matrix, std::ptrdiff_t i, std::ptrdiff_t seen) {
    return matrix.in().row(i).first(seen);
  };
  const auto expected = row_by_row(scores, counts, 3, [&](std::ptrdiff_t i, std::ptrdiff_t seen, Row<T> out) {
    weights(map, seen_row(scores, i, seen), out);
  });
  const auto pushed = row_by_row(scores, counts, 3, [&](std::ptrdiff_t i, std::ptrdiff_t seen, Row<T> out) {
    jvp(map, seen_row(scores, i, seen), seen_row(direction, i, seen), out);
  });
  const auto pulled = row_by_row(scores, counts, 3, [&](std::ptrdiff_t i, std::ptrdiff_t seen, Row<T> out) {
    vjp(map, seen_row(scores, i, seen), seen_row(direction, i, seen), out);
  });
  const auto pulled_from_weights =
      row_by_row(scores, counts, 3, [&](std::ptrdiff_t i, std::ptrdiff_t seen, Row<T> out) {
        if constexpr (requires { vjp_from_weights(map, out, out, out, out); }) {
          vjp_from_weights(map, seen_row(scores, i, seen), seen_row(expected, i, seen), seen_row(direction, i, seen),
                           out);
        } else {
          vjp(map, seen_row(scores, i, seen), seen_row(direction, i, seen), out);
        }
      });
  for_each_system(options, [&](const Options& here) {
    CAPTURE(simulate::name(here.device), here.threads, rows, columns);
    Matrix<T> out(rows, columns, 3), itself = scores;
    apply::weights(map, scores.in(), out.out(), here);
    CHECK(same_bits(out.numbers, expected.numbers));
    apply::weights(map, itself.in(), itself.out(), here);
    for (std::ptrdiff_t i = 0; i < rows; ++i) CHECK(same_bits(itself.row(i), expected.row(i)));
    apply::jvp(map, scores.in(), direction.in(), out.out(), here);
    CHECK(same_bits(out.numbers, pushed.numbers));
    apply::vjp(map, scores.in(), direction.in(), out.out(), here);
    CHECK(same_bits(out.numbers, pulled.numbers));
    Matrix<T> onto = direction;
    apply::vjp(map, scores.in(), onto.in(), onto.out(), here);
    for (std::ptrdiff_t i = 0; i < rows; ++i) CHECK(same_bits(onto.row(i), pulled.row(i)));
    apply::vjp_from_weights(map, scores.in(), expected.in(), direction.in(), out.out(), here);
    CHECK(same_bits(out.numbers, pulled_from_weights.numbers));
    Matrix<T> kept = expected;
    apply::vjp_from_weights(map, scores.in(), kept.in(), direction.in(), kept.out(), here);
    for (std::ptrdiff_t i = 0; i < rows; ++i) CHECK(same_bits(kept.row(i), pulled_from_weights.row(i)));
  });
}

template <class Map>
void check_map(const Map& map) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>>{{1, 1}, {7, 33}, {40, 200}}) {
    std::vector<std::int64_t> all, causal, given;
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      all.push_back(columns);
      causal.push_back(columns - rows + i + 1);  // the last queries: no shape has more rows than columns
      given.push_back(1 + (i * 37) % columns);
    }
    check_all_work(map, rows, columns, Options{}, all);
    check_all_work(map, rows, columns, Options{.visibility = Visibility::causal}, causal);
    check_all_work(map, rows, columns, Options{.visible_counts = given}, given);
  }
}

}  // namespace

TEST_CASE("a matrix's rows get the bits of the row-wise map on every system, masked and in place", "[apply]") {
  check_map(Softmax<float>{0.5f});
  check_map(SSMax<double>{0.5, 0.25});
  check_map(SSA<float>{});
  check_map(NormSoftmax<double>{64});
  check_map(Entmax<double>{1.5});
}

TEST_CASE("SSMax counts what each row of a causal matrix sees", "[apply]") {
  Matrix<double> scores(6, 6), out(6, 6);
  Random random(3);
  scores.fill_normal(random);
  apply::weights(SSMax<double>{1}, scores.in(), out.out(), {.visibility = Visibility::causal});
  for (std::ptrdiff_t i = 0; i < 6; ++i) {
    double sum = 0;
    for (std::ptrdiff_t j = 0; j <= i; ++j) sum += std::exp(std::log(static_cast<double>(i + 1)) * scores(i, j));
    for (std::ptrdiff_t j = 0; j < 6; ++j) {
      const double truth = j <= i ? std::exp(std::log(static_cast<double>(i + 1)) * scores(i, j)) / sum : 0;
      const double wrong = j <= i ? std::exp(std::log(6.0) * scores(i, j)) / sum : 0;
      CHECK(std::abs(out(i, j) - truth) <= 1e-14);
      if (i == 2 && j == 1) CHECK(std::abs(out(i, j) - wrong) > 1e-3);
    }
  }
}

TEST_CASE("a vjp from kept weights is not written onto the scores", "[apply]") {
  Matrix<double> scores(2, 20), kept(2, 20), cotangent(2, 20);
  CHECK(names(message_of([&] {
                apply::vjp_from_weights(Softmax<double>{}, scores.in(), kept.in(), cotangent.in(), scores.out());
              }),
              "apply::vjp_from_weights", "out shares elements with the scores"));
}

TEST_CASE("halves of one matrix may be input and output", "[apply]") {
  Matrix<double> both(5, 12);
  Random random(4);
  both.fill_normal(random);
  const MatrixView<const double> left(both.numbers.data(), 5, 6, scoring::Strides{12});
  const MatrixView<double> right(both.numbers.data() + 6, 5, 6, scoring::Strides{12});
  apply::weights(Softmax<double>{}, left, right);
  for (std::ptrdiff_t i = 0; i < 5; ++i) {
    std::vector<double> expected(6);
    weights(Softmax<double>{}, left.row(i), expected);
    for (std::ptrdiff_t j = 0; j < 6; ++j) CHECK(right(i, j) == expected[static_cast<std::size_t>(j)]);
  }
  const MatrixView<double> shifted(both.numbers.data() + 5, 5, 6, scoring::Strides{12});
  CHECK(message_of([&] { apply::weights(Softmax<double>{}, left, shifted); }).find("out overlaps scores") !=
        std::string::npos);
}

TEST_CASE("bad shapes, options, maps and scores are refused by name", "[apply]") {
  Matrix<double> scores(4, 8), out(4, 8), small(4, 7);
  Random random(5);
  scores.fill_normal(random);
  const auto says = [&](const std::string& what, auto call) {
    INFO(what);
    CHECK(names(message_of(call), what));
  };
  const Softmax<double> map;
  says("columns of out has the wrong size (value = 7; needs 8)",
       [&] { apply::weights(map, scores.in(), small.out()); });
  says("columns of scores is too small (value = 0", [&] {
    apply::weights(map, MatrixView<const double>(scores.numbers.data(), 4, 0),
                   MatrixView<double>(out.numbers.data(), 4, 0));
  });
  says("scores has no data", [&] { apply::weights(map, MatrixView<const double>(nullptr, 4, 8), out.out()); });
  says("rows of out overlap: row stride (value = 7",
       [&] { apply::weights(map, scores.in(), MatrixView<double>(out.numbers.data(), 4, 8, scoring::Strides{7})); });
  says("rows of out overlap: row stride (value = 1", [&] {
    apply::weights(map, scores.in(), MatrixView<double>(out.numbers.data(), 4, 8, scoring::Strides{1, 3}));
  });
  says("threads is too small (value = -1", [&] { apply::weights(map, scores.in(), out.out(), {.threads = -1}); });
  const std::vector<std::int64_t> few{1, 2, 3}, zero{1, 0, 3, 4}, many{1, 2, 3, 9};
  says("visible_counts has the wrong size (value = 3; needs 4)",
       [&] { apply::weights(map, scores.in(), out.out(), {.visible_counts = few}); });
  says("visible count is out of range (value = 0",
       [&] { apply::weights(map, scores.in(), out.out(), {.visible_counts = zero}); });
  says("visible count is out of range (value = 9",
       [&] { apply::weights(map, scores.in(), out.out(), {.visible_counts = many}); });
  says("temperature is not positive", [&] { apply::weights(Softmax<double>{-1}, scores.in(), out.out()); });
  scores(2, 7) = nan;
  says("undefined on this row of scores: row (value = 2", [&] { apply::weights(map, scores.in(), out.out()); });
  apply::weights(map, scores.in(), out.out(), {.undefined = apply::Undefined::leave});
  CHECK(all_nan(out.row(2)));
  CHECK_FALSE(all_nan(out.row(1)));
  CHECK_NOTHROW(apply::weights(map, scores.in(), out.out(), {.visibility = Visibility::causal}));
}

TEST_CASE("a direction may be another view of the scores' memory", "[apply]") {
  Random random(23);
  Matrix<double> scores(7, 7), transposed(7, 7), expected(7, 7), out(7, 7);
  scores.fill_normal(random);
  for (std::ptrdiff_t i = 0; i < 7; ++i) {
    for (std::ptrdiff_t j = 0; j < 7; ++j) transposed(i, j) = scores(j, i);
  }
  const Softmax<double> map{0.5};
  apply::jvp(map, scores.in(), transposed.in(), expected.out());
  apply::jvp(map, scores.in(), {scores.numbers.data(), 7, 7, Strides{1, 7}}, out.out());
  CHECK(same_bits(out.numbers, expected.numbers));
}

}  // namespace incontext::testing
