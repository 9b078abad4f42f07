#include "incontext/random/uniform.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "random/law.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace uniform_test {

using namespace incontext;
using random::uniform_open;
using random::uniform_open_closed;

namespace {

/// A word drawn from a fixed engine, so that a uniform is judged apart from Philox.
class Words {
 public:
  explicit Words(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_() >> 32); }

 private:
  std::mt19937_64 engine_;
};

/// The worst |z| of mean, variance and cells of a sampler of U(0, 1).
template <class Sampler>
double worst_deviation(const Sampler& sampler) {
  constexpr int draws = 1 << 22;
  testing::Cells cells(0, 1, 1024);
  double sum = 0;
  double square = 0;
  for (int i = 0; i < draws; ++i) {
    const double centered = sampler() - 0.5;
    cells.add(centered + 0.5);
    sum += centered;
    square += centered * centered;
  }
  const auto n = static_cast<double>(draws);
  const testing::Fit fit = cells.against([](double x) { return x; });
  const double mean = sum / std::sqrt(n / 12);
  const double variance = (square - n / 12) / std::sqrt(n / 180);  // Var (u - 1/2)^2 = 1/80 - 1/144
  return testing::worst_of({mean, variance, fit.chi_square_z, fit.ks_z});
}

}  // namespace

TEST_CASE("the half-open float uniform ends at 2^-31 and at 1, and never gives 0") {
  CHECK(uniform_open_closed(0) == 0x1p-31f);
  CHECK(uniform_open_closed(1) == 0x1p-31f);
  CHECK(uniform_open_closed(2) == 3 * 0x1p-31f);
  CHECK(uniform_open_closed(0x80000000u) == 0x1p-31f);
  CHECK(uniform_open_closed(~0u) == 1.0f);
  for (std::uint32_t from_end = 1; from_end <= 64; ++from_end) REQUIRE(uniform_open_closed(0u - from_end) == 1.0f);
  CHECK(uniform_open_closed(0u - 65) == 1.0f - 0x1p-24f);
  int ones = 0;
  int too_small = 0;
  for (std::uint32_t word = 0; word < 1u << 16; ++word) {
    too_small += !(uniform_open_closed(word) >= 0x1p-31f);
    ones += uniform_open_closed(0x7fff0000u | word) == 1.0f;
  }
  CHECK(ones == 64);
  CHECK(too_small == 0);
}

TEST_CASE("the half-open float uniform rises with its word and stays within half a unit of the last place") {
  float before = 0;
  testing::Worst off_by;
  int falls = 0;
  for (std::uint32_t word = 0; word <= 0x7fffffffu; word += 97) {
    const float u = uniform_open_closed(word);
    falls += !(u >= before);
    before = u;
    const double exact = (static_cast<double>(word >> 1) + 0.5) * 0x1p-30;
    off_by.add(std::abs(u - exact), "word ", word);
  }
  CHECK(falls == 0);
  // so that mean and variance are within 2^-24 of U(0, 1)'s
  CHECK(off_by <= 0x1p-25);
  CHECK(off_by >= 0x1p-26);
}

TEST_CASE("mean and variance of the half-open float uniform over all words are U(0, 1)'s to 2^-24") {
  // Rounding repeats every 512 words at most, so whole runs of 512 stand for all words between them.
  double mean = 0;
  double square = 0;
  double words = 0;
  for (std::uint64_t start = 0; start < 1ULL << 31; start += 1ULL << 18) {
    for (std::uint64_t word = start; word < start + 512; ++word) {
      const double exact = (static_cast<double>(word >> 1) + 0.5) * 0x1p-30;
      const double u = uniform_open_closed(static_cast<std::uint32_t>(word));
      mean += u - exact;
      square += (u - 0.5) * (u - 0.5) - (exact - 0.5) * (exact - 0.5);
      ++words;
    }
  }
  // of the exact grid, the mean is 1/2 and the variance 1/12 - 2^-60/12
  CHECK(std::abs(mean / words) <= 0x1p-24);
  CHECK(std::abs(square / words - (mean / words) * (mean / words)) <= 0x1p-24);
}

TEST_CASE("the open float uniform is the exact midpoint of its 2^23 cells") {
  int off = 0;
  for (std::uint32_t k = 0; k < 1u << 23; ++k) off += !(uniform_open(k << 9) == (k + 0.5) * 0x1p-23);
  CHECK(off == 0);
  CHECK(uniform_open(0) == 0x1p-24f);
  CHECK(uniform_open(511) == 0x1p-24f);
  CHECK(uniform_open(512) == 3 * 0x1p-24f);
  CHECK(uniform_open(~0u) == 1.0f - 0x1p-24f);
  CHECK(uniform_open(~0u - 511) == 1.0f - 0x1p-24f);
}

TEST_CASE("the open double uniform is the exact midpoint of its 2^52 cells") {
  const auto exact = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t k = (static_cast<std::uint64_t>(high) << 20) | (low >> 12);
    return std::ldexp(static_cast<double>(2 * k + 1), -53);
  };
  Words word(31);
  for (int i = 0; i < 100000; ++i) {
    const std::uint32_t high = word() >> (i % 33 == 32 ? 0 : i % 32);
    const std::uint32_t low = word();
    REQUIRE(uniform_open(high, low) == exact(high, low));
    REQUIRE(uniform_open(~high, ~low) == 1 - uniform_open(high, low));
  }
  CHECK(uniform_open(0, 0) == 0x1p-53);
  CHECK(uniform_open(0, 4095) == 0x1p-53);
  CHECK(uniform_open(0, 4096) == 3 * 0x1p-53);
  CHECK(uniform_open(1, 0) == 0x1p-32 + 0x1p-53);
  CHECK(uniform_open(~0u, ~0u) == 1 - 0x1p-53);
}

TEST_CASE("uniforms of random words have the law of U(0, 1)") {
  Words word(32);
  CHECK(worst_deviation([&] { return static_cast<double>(uniform_open_closed(word())); }) <= 5);
  CHECK(worst_deviation([&] { return static_cast<double>(uniform_open(word())); }) <= 5);
  CHECK(worst_deviation([&] {
          const std::uint32_t high = word();
          return uniform_open(high, word());
        }) <= 5);
}

TEST_CASE("a uniform that is slightly biased, or leaves out a cell, is rejected") {
  Words word(33);
  CHECK(worst_deviation([&] { return std::pow(uniform_open(word(), word()), 1.005); }) > 5);
  CHECK(worst_deviation([&] { return 0.5 + 0.996 * (uniform_open(word(), word()) - 0.5); }) > 5);
  CHECK(worst_deviation([&] {
          const double u = uniform_open(word(), word());
          return u >= 0.3 && u < 0.301 ? u + 0.4 : u;  // 1 in 1000
        }) > 5);
}

}  // namespace uniform_test
