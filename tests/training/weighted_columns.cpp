#include "incontext/training/detail/reasoning_pass.hpp"

#include <vector>

#include "support/catch.hpp"

namespace incontext::testing {

using namespace training::detail;

TEST_CASE("weighted columns of every length are those of plain loops", "[training]") {
  for (const std::size_t length : {1U, 31U, 32U, 33U, 64U, 100U}) {
    CAPTURE(length);
    std::vector<std::vector<double>> columns(3, std::vector<double>(length)), sums = columns;
    std::vector<double> out(length), expected(length), direction(length);
    const std::vector<double> factors{0.5, -2, 3};
    for (std::size_t i = 0; i < length; ++i) {
      expected[i] = out[i] = static_cast<double>(i) / 8;
      direction[i] = static_cast<double>(7 * i % 11);
      for (std::size_t k = 0; k < 3; ++k) {
        columns[k][i] = static_cast<double>((i + 1) * (k + 2) % 17);
        sums[k][i] = static_cast<double>(i + k);
        expected[i] += factors[k] * columns[k][i];
      }
    }
    const double* const from[] = {columns[0].data(), columns[1].data(), columns[2].data()};
    double* const to[] = {sums[0].data(), sums[1].data(), sums[2].data()};
    const auto size = static_cast<std::ptrdiff_t>(length);
    add_weighted_columns<double>(from, factors.data(), 3, size, out.data());
    add_to_columns<double>(direction.data(), factors.data(), 3, size, to);
    CHECK(out == expected);  // small binary fractions: every sum is exact
    for (std::size_t k = 0; k < 3; ++k) {
      for (std::size_t i = 0; i < length; ++i) {
        if (sums[k][i] != static_cast<double>(i + k) + factors[k] * direction[i]) FAIL(k << ", " << i);
      }
    }
  }
}

}  // namespace incontext::testing
