#include "support/foreign_maps.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/apply/attention.hpp"
#include "incontext/apply/rows.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace foreign_maps_apply_test {

namespace {

using namespace incontext;
using foreign::Asinh;
using foreign::SinkSoftmax;
using scoring::MatrixView;
using scoring::Row;

template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t seed) {
  testing::Random random(seed);
  return testing::converted<T>(random.normals(count));
}

/// Row lengths below and above the number of lanes and the size of a block of keys.
const std::vector<std::ptrdiff_t> lengths{1, 5, 70};

template <class T, class Visit>
void for_each_foreign_map(Visit visit) {
  visit(Asinh<T>(T(1.5)));
  visit(SinkSoftmax<T>(T(0.5)));
}

}  // namespace

TEMPLATE_TEST_CASE("a foreign map is applied to every row of a matrix by its own functions", "[apply]", float, double) {
  using T = TestType;
  for_each_foreign_map<T>([](const auto& map) {
    for (const auto visibility : {scoring::Visibility::all, scoring::Visibility::causal}) {
      for (const std::ptrdiff_t n : lengths) {
        const auto size = static_cast<std::size_t>(7 * n);
        const std::vector<T> z = numbers<T>(size, 71), u = numbers<T>(size, 72);
        const MatrixView<const T> scores(z.data(), 7, n), direction(u.data(), 7, n);
        std::vector<T> out(size), expected(size, T(0));
        const MatrixView<T> found(out.data(), 7, n), by_row(expected.data(), 7, n);
        const apply::Options options{.visibility = visibility, .threads = 2};
        const auto check = [&](auto one_row) {
          for (std::ptrdiff_t i = 0; i < 7; ++i) {
            const std::ptrdiff_t seen = scoring::visible_keys(visibility, i, 7, n);
            one_row(scores.row(i).first(seen), direction.row(i).first(seen), by_row.row(i).first(seen));
          }
          CHECK(out == expected);
        };
        apply::weights(map, scores, found, options);
        check([&](Row<const T> row, Row<const T>, Row<T> to) { weights(map, row, to); });
        apply::jvp(map, scores, direction, found, options);
        check([&](Row<const T> row, Row<const T> along, Row<T> to) { jvp(map, row, along, to); });
        apply::vjp(map, scores, direction, found, options);
        check([&](Row<const T> row, Row<const T> along, Row<T> to) { vjp(map, row, along, to); });
      }
    }
  });
}

TEMPLATE_TEST_CASE("attention through a foreign map has that map's weights", "[apply]", float, double) {
  using T = TestType;
  for_each_foreign_map<T>([](const auto& map) {
    for (const std::ptrdiff_t n : lengths) {
      const std::ptrdiff_t q = 9, d = 3, dv = 2;
      const std::vector<T> queries = numbers<T>(static_cast<std::size_t>(q * d), 73);
      const std::vector<T> keys = numbers<T>(static_cast<std::size_t>(n * d), 74);
      const std::vector<T> values = numbers<T>(static_cast<std::size_t>(n * dv), 75);
      std::vector<T> out(static_cast<std::size_t>(q * dv));
      apply::attend(map, MatrixView<const T>(queries.data(), q, d), MatrixView<const T>(keys.data(), n, d),
                    MatrixView<const T>(values.data(), n, dv), MatrixView<T>(out.data(), q, dv),
                    {.visibility = scoring::Visibility::causal});
      for (std::ptrdiff_t i = 0; i < q; ++i) {
        const std::ptrdiff_t seen = scoring::visible_keys(scoring::Visibility::causal, i, q, n);
        std::vector<T> scores(static_cast<std::size_t>(seen)), a(static_cast<std::size_t>(seen));
        for (std::ptrdiff_t j = 0; j < seen; ++j) {
          scores[static_cast<std::size_t>(j)] =
              scoring::detail::dot(Row<const T>(queries.data() + i * d, d), Row<const T>(keys.data() + j * d, d));
        }
        weights(map, Row<const T>(scores), Row<T>(a));
        for (std::ptrdiff_t e = 0; e < dv; ++e) {
          double expected = 0, size = 0;
          for (std::ptrdiff_t j = 0; j < seen; ++j) {
            const double term =
                static_cast<double>(a[static_cast<std::size_t>(j)] * values[static_cast<std::size_t>(j * dv + e)]);
            expected += term;
            size += std::abs(term);
          }
          const double found = static_cast<double>(out[static_cast<std::size_t>(i * dv + e)]);
          CHECK(std::abs(found - expected) <= 64 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size);
        }
      }
    }
  });
}

TEST_CASE("a foreign map outside its domain is refused by its own validate, or row by row", "[apply]") {
  const std::vector<double> z{1, 2, 3, 4};
  std::vector<double> out(4);
  const MatrixView<const double> scores(z.data(), 2, 2);
  const MatrixView<double> found(out.data(), 2, 2);
  CHECK(testing::names(testing::message_of([&] { apply::weights(SinkSoftmax<double>(-1), scores, found); }),
                       "foreign::SinkSoftmax", "temperature"));
  CHECK(
      testing::names(testing::message_of([&] { apply::attend(SinkSoftmax<double>(0), scores, scores, scores, found); }),
                     "foreign::SinkSoftmax", "temperature"));
  CHECK(testing::names(testing::message_of([&] { apply::weights(Asinh<double>(-1), scores, found); }), "apply::weights",
                       "undefined on this row"));
}

}  // namespace foreign_maps_apply_test
