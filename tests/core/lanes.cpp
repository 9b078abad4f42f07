#include "incontext/core/lanes.hpp"

#include "support/catch.hpp"

namespace lanes_test {

using namespace incontext;

namespace {

/// Numbers whose sums, differences, products and quotients are different in every lane, and exact but for the last.
template <int W>
Lanes<double, W> numbers(double first) {
  Lanes<double, W> values;
  for (int i = 0; i < W; ++i) values[i] = first + 3 * i;
  return values;
}

template <int W>
void check_operators() {
  const auto a = numbers<W>(2), b = numbers<W>(-7.5);
  const double c = 5;
  const auto check = [&](auto operation) {
    const auto both = operation(a, b), right = operation(a, c), left = operation(c, b);
    for (int i = 0; i < W; ++i) {
      CHECK(both[i] == operation(a[i], b[i]));
      CHECK(right[i] == operation(a[i], c));
      CHECK(left[i] == operation(c, b[i]));
    }
  };
  check([](auto x, auto y) { return x + y; });
  check([](auto x, auto y) { return x - y; });
  check([](auto x, auto y) { return x * y; });
  check([](auto x, auto y) { return x / y; });
}

}  // namespace

TEST_CASE("lanes and numbers are added, subtracted, multiplied and divided lane by lane", "[core]") {
  check_operators<1>();
  check_operators<8>();
}

}  // namespace lanes_test
