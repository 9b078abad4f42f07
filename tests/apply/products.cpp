#include "incontext/apply/detail/products.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "apply/matrices.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace apply::detail;

namespace {

/// The sums, in the order k, p, lane, by the way that this processor is given and by the C library's fma.
template <class T>
struct Sums {
  std::vector<T> as_used, by_numbers;
};

template <int count, int packs, class T>
Sums<T> sums_of(const Matrix<T>& factors, const Matrix<T>& numbers) {
  constexpr int width = pack_width<T>;
  const auto pack_at = [&](std::int64_t i, int p) {
    T lanes[width];
    for (int l = 0; l < width; ++l) lanes[l] = factors(i, p * width + l);
    return load_pack(lanes);
  };
  const auto number_at = [&](std::int64_t i, int k) { return numbers(i, k); };
  constexpr auto size = static_cast<std::size_t>(count * packs * width);
  Sums<T> sums{std::vector<T>(size), std::vector<T>(size)};
  const auto at = [](int k, int p) { return (k * packs + p) * width; };
  sum_products<count, packs, T>(factors.rows, pack_at, number_at, [&](int k, int p, const Pack<T>& sum) {
    store_pack(sums.as_used.data() + at(k, p), sum);
  });
  Pack<T> found[count][packs];
  sum_by_numbers<count, packs, T>(factors.rows, pack_at, number_at, found);
  for (int k = 0; k < count; ++k) {
    for (int p = 0; p < packs; ++p) store_pack(sums.by_numbers.data() + at(k, p), found[k][p]);
  }
  return sums;
}

/// Checks the sums of so many products; returns how many of them rounded products would have changed.
template <int count, int packs, class T>
int check_sums(std::int64_t terms) {
  const std::int64_t lanes = packs * pack_width<T>;
  Random random(1);
  Matrix<T> factors(terms, lanes), numbers(terms, count);
  factors.fill_normal(random);
  numbers.fill_normal(random);
  const Sums<T> sums = sums_of<count, packs, T>(factors, numbers);
  int apart = 0;
  for (int k = 0; k < count; ++k) {
    for (std::int64_t l = 0; l < lanes; ++l) {
      T fused_sum = 0, sum = 0;
      for (std::int64_t i = 0; i < terms; ++i) {
        fused_sum = std::fma(factors(i, l), numbers(i, k), fused_sum);
        const volatile T product = factors(i, l) * numbers(i, k);
        sum = sum + product;
      }
      const auto at = static_cast<std::size_t>(k * lanes + l);
      CAPTURE(terms, count, packs, k, l);
      CHECK(sums.as_used[at] == fused_sum);
      CHECK(sums.by_numbers[at] == fused_sum);
      apart += sum != fused_sum;
    }
  }
  return apart;
}

}  // namespace

TEMPLATE_TEST_CASE("sums of products round each product once, with and without the processor's instruction", "", float,
                   double, long double) {
  using T = TestType;
  for (const std::int64_t terms : {0, 1, 7, 64}) {
    check_sums<1, 1, T>(terms);
    check_sums<4, 2, T>(terms);
    const int apart = check_sums<8, 2, T>(terms);
    if (terms == 64) CHECK(apart > 8 * 2 * pack_width<T> / 2);  // of all
  }
}

TEST_CASE("products of other numbers are rounded, then added") {
  using Fifty = boost::multiprecision::cpp_bin_float_50;
  const Fifty third = Fifty(1) / 3, product = third * third;
  CHECK(fused<Fifty>(third, third, -product) == 0);
  CHECK(fused(7, 6, -2) == 40);
}

}  // namespace incontext::testing
