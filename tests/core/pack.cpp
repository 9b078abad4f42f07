#include "incontext/core/pack.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace pack_test {

using namespace incontext;

namespace {

/// The values in a pack's lanes.
template <class T>
std::vector<T> lanes(const Pack<T>& pack) {
  std::vector<T> numbers(pack_width<T>);
  store_pack(numbers.data(), pack);
  return numbers;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Zeros of both signs, the ends of the range, and numbers whose sums, products and quotients round.
template <class T>
std::vector<T> awkward_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers{T(0), -T(0), Limits::min(), -Limits::max(), Limits::infinity(), T(1) / 3, T(-1e5), T(0.7)};
  while (numbers.size() < 3 * pack_width<T> + 8) numbers.push_back(numbers[numbers.size() - 3] * T(1.1));
  return numbers;
}

}  // namespace

TEMPLATE_TEST_CASE("a pack is read and written at any address, and no more than its lanes", "[core]", float, double) {
  using T = TestType;
  const auto numbers = awkward_numbers<T>();
  for (int first = 0; first < 5; ++first) {
    const std::vector<T> expected(numbers.begin() + first, numbers.begin() + first + pack_width<T>);
    CHECK(same_bits(lanes<T>(load_pack(numbers.data() + first)), expected));
    std::vector<T> to(pack_width<T> + 6, T(77));
    store_pack(to.data() + first, load_pack(numbers.data() + first));
    for (int i = 0; i < static_cast<int>(to.size()); ++i) {
      const bool inside = first <= i && i < first + pack_width<T>;
      INFO("first " << first << ", entry " << i);
      if (!inside) CHECK(to[static_cast<std::size_t>(i)] == T(77));
    }
  }
}

TEMPLATE_TEST_CASE("every lane gets the bits the plain number would get", "[core]", float, double) {
  using T = TestType;
  const auto numbers = awkward_numbers<T>();
  const auto check = [&](auto operation) {
    const Pack<T> a = load_pack(numbers.data()), b = load_pack(numbers.data() + pack_width<T> + 3);
    std::vector<T> expected;
    for (int l = 0; l < pack_width<T>; ++l) {
      const auto at = static_cast<std::size_t>(l);
      const volatile T x = numbers[at], y = numbers[at + pack_width<T> + 3];
      expected.push_back(operation(T(x), T(y)));
    }
    CHECK(same_bits(lanes<T>(operation(a, b)), expected));
  };
  check([](auto x, auto y) { return x + y; });
  check([](auto x, auto y) { return x - y; });
  check([](auto x, auto y) { return x * y; });
  check([](auto x, auto y) { return x / y; });
  check([](auto x, auto y) { return x < y ? x : y; });
}

TEMPLATE_TEST_CASE("pack_of fills every lane", "[core]", float, double) {
  using T = TestType;
  for (const T x : {T(0), -T(0), T(1) / 3, -std::numeric_limits<T>::infinity()}) {
    CHECK(same_bits(lanes<T>(pack_of(x)), std::vector<T>(pack_width<T>, x)));
  }
}

TEST_CASE("packs fill the vector registers of the target, and other types stand alone", "[core]") {
  STATIC_REQUIRE(sizeof(Pack<float>) == sizeof(float) * pack_width<float>);
  STATIC_REQUIRE(sizeof(Pack<double>) == sizeof(double) * pack_width<double>);
  STATIC_REQUIRE(pack_width<long double> == 1);
#if defined(__GNUC__) && !defined(__CUDACC__)
  STATIC_REQUIRE(sizeof(Pack<float>) >= 16);
  STATIC_REQUIRE(pack_width<float> == 2 * pack_width<double>);
#endif
}

}  // namespace pack_test
