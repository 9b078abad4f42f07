#include "incontext/scoring/detail/first_place.hpp"

#include <vector>

#include "support/catch.hpp"

namespace incontext::testing {

using scoring::Row;
using scoring::detail::first_place_of;

TEMPLATE_TEST_CASE("a score is found where it first occurs, in rows shorter and longer than what is searched at once",
                   "[scoring]", float, double) {
  constexpr std::ptrdiff_t at_once = 8 * scoring::detail::row_block;
  for (const std::ptrdiff_t n :
       {std::ptrdiff_t{1}, std::ptrdiff_t{7}, at_once - 1, at_once, at_once + 1, 3 * at_once + 64}) {
    std::vector<TestType> row(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<TestType>(i);
    for (std::ptrdiff_t at = 0; at < n; ++at) {
      if (first_place_of(static_cast<TestType>(at), Row<const TestType>(row.data(), n)) != at) FAIL(n << ", " << at);
    }
    CHECK(first_place_of(TestType(-1), Row<const TestType>(row.data(), n)) == n);
  }
  std::vector<TestType> twice(1600, TestType(0));
  for (const std::size_t at : {1203U, 1590U}) twice[at] = 5;
  CHECK(first_place_of(TestType(5), Row<const TestType>(twice.data(), 1600)) == 1203);
  CHECK(first_place_of(TestType(5), Row<const TestType>(twice.data(), 800, 2)) == 795);  // the odd place is not in it
}

}  // namespace incontext::testing
