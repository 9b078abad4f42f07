#include "incontext/apply/detail/products.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "apply/matrices.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace apply::detail;

namespace {

constexpr int count = 3, packs = 2;

/// What the two ways give, in the order k, p, lane.
template <class T>
struct Sums {
  std::vector<T> by_instruction, by_numbers;
};

template <class T>
Sums<T> sums_of(const Matrix<T>& factors, const Matrix<T>& numbers) {
  constexpr int width = pack_width<T>;
  const auto pack_at = [&](std::int64_t i, int p) {
    T lanes[width];
    for (int l = 0; l < width; ++l) lanes[l] = factors(i, p * width + l);
    return load_pack(lanes);
  };
  const auto number_at = [&](std::int64_t i, int k) { return numbers(i, k); };
  const auto into = [](std::vector<T>& sums) {
    sums.resize(count * packs * width);
    return [&sums](int k, int p, const Pack<T>& sum) { store_pack(sums.data() + (k * packs + p) * width, sum); };
  };
  Sums<T> sums;
  sum_products<count, packs, T>(factors.rows, pack_at, number_at, into(sums.by_instruction));
  sum_by_numbers<count, packs, T>(factors.rows, pack_at, number_at, into(sums.by_numbers));
  return sums;
}

}  // namespace

TEMPLATE_TEST_CASE("sums of products round each product once, with and without the processor's instruction", "", float,
                   double) {
  using T = TestType;
  const std::int64_t terms = 50, lanes = packs * pack_width<T>;
  Random random(1);
  Matrix<T> factors(terms, lanes), numbers(terms, count);
  factors.fill_normal(random);
  numbers.fill_normal(random);
  const Sums<T> sums = sums_of<T>(factors, numbers);
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
      CAPTURE(k, l);
      CHECK(sums.by_instruction[at] == fused_sum);
      CHECK(sums.by_numbers[at] == fused_sum);
      apart += sum != fused_sum;
    }
  }
  CHECK(apart > lanes);  // of 3 lanes
}

TEST_CASE("numbers without a fused product are multiplied, then added") {
  const long double third = 1.0L / 3;
  CHECK(fused(third, third, -third * third) == std::fma(third, third, -third * third));
  CHECK(fused(7, 6, -2) == 40);
}

}  // namespace incontext::testing
