#include <cmath>
#include <cstdint>
#include <random>

#include "incontext/random/normal.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/worst.hpp"

using namespace incontext;
using testing::Real50;

TEST_CASE("double normals follow the same map in 50 digits to 6e-16 of the radius") {
  const Real50 turn = 8 * atan(Real50(1));
  std::mt19937_64 engine(56);
  testing::Worst worst;
  int beyond = 0;
  for (int i = 0; i < 40000; ++i) {
    auto word0 = static_cast<std::uint32_t>(engine());
    const auto word1 = static_cast<std::uint32_t>(engine());
    auto word2 = static_cast<std::uint32_t>(engine());
    const auto word3 = static_cast<std::uint32_t>(engine());
    if (i % 4 == 1) word0 >>= i / 4 % 32;                         // large radii
    if (i % 4 == 2) word0 = ~(word0 >> i / 4 % 32);               // small ones
    if (i % 4 == 3) word2 = 0x80000000u + (word2 >> i / 4 % 32);  // near the axis
    double first, second;
    random::box_muller(word0, word1, word2, word3, first, second);
    const std::uint64_t k = (std::uint64_t{word0} << 20) | (word1 >> 12);
    const std::uint64_t m = (std::uint64_t{word2} << 20) | (word3 >> 12);
    const Real50 u = ldexp(Real50(2 * k + 1), -53);
    const Real50 angle = turn * (ldexp(Real50(2 * m + 1), -54) - Real50(0.25));
    const Real50 radius = sqrt(-2 * log(u));
    const Real50 signed_radius = word3 % 2 == 0 ? radius : Real50(-radius);
    const Real50 cosine_error = abs(first - signed_radius * cos(angle)) / radius;
    const Real50 sine_error = abs(second - signed_radius * sin(angle)) / radius;
    const double error = std::fmax(static_cast<double>(cosine_error), static_cast<double>(sine_error));
    beyond += !(error <= 6e-16);
    worst.add(error, "i ", i);
  }
  INFO("worst " << worst << " of the radius");
  CHECK(beyond == 0);
  CHECK(worst > 3e-16);
}
