#include "incontext/random/chi_square.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstdint>

#include "random/law.hpp"
#include "support/catch.hpp"

namespace chi_square_test {

using namespace incontext;
using random::chi_square;
using random::LaneStream;

namespace {

constexpr int lanes = 64;

/// The worst |z| of mean, variance, cells and Kolmogorov distance of draws of the sampler against chi-square with k
/// degrees of freedom, each draw multiplied by scale.
double worst_deviation(std::int64_t sampled, std::int64_t judged, double scale = 1) {
  constexpr std::uint64_t draws = 1u << 20;
  const auto k = static_cast<double>(judged);
  const boost::math::chi_squared law(k);
  // in the square root, whose density is bounded at 0 for one degree of freedom too
  testing::Cells cells(std::sqrt(quantile(law, 1e-6)), std::sqrt(quantile(complement(law, 1e-6))), 2048);
  double sum = 0;
  double square = 0;
  double out[lanes];
  for (std::uint64_t trial = 0; trial < draws; trial += lanes) {
    chi_square(LaneStream<lanes>({71, trial}, random::StreamTag(static_cast<std::uint32_t>(sampled))), 0, sampled, out);
    for (const double value : out) {
      const double centered = scale * value - k;
      sum += centered;
      square += centered * centered;
      cells.add(std::sqrt(scale * value));
    }
  }
  const auto n = static_cast<double>(draws);
  const double mean = sum / std::sqrt(n * 2 * k);
  const double variance = (square - n * 2 * k) / std::sqrt(n * (12 * k * (k + 4) - 4 * k * k));
  const testing::Fit fit = cells.against([&](double root) { return cdf(law, root * root); });
  return testing::worst_of({mean, variance, fit.chi_square_z, fit.ks_z});
}

/// The definition, one trial at a time and with the standard library's logarithm; also how many attempts it took.
double one_by_one(std::uint64_t seed, std::uint64_t trial, std::uint32_t stream, std::uint32_t first_block,
                  std::int64_t degrees_of_freedom, int& attempts) {
  const double shift = static_cast<double>(degrees_of_freedom) / 2 - 1.0 / 3.0;
  for (attempts = 1;; ++attempts) {
    const std::uint32_t block = first_block + 2 * static_cast<std::uint32_t>(attempts - 1);
    std::uint32_t words[4];
    random::philox(seed, {trial, block, stream}, words);
    double z, unused;
    random::box_muller(words[0], words[1], words[2], words[3], z, unused);
    if (degrees_of_freedom == 1) return z * z;
    random::philox(seed, {trial, block + 1, stream}, words);
    const double u = random::uniform_open(words[0], words[1]);
    const double v = std::pow(1 + z / std::sqrt(9 * shift), 3);
    if (v > 0 && std::log(u) < z * z / 2 + shift - shift * v + shift * std::log(v)) return 2 * shift * v;
  }
}

}  // namespace

TEST_CASE("chi-square variates have the mean, the variance and the distribution of their law") {
  for (std::int64_t k : {1, 2, 3, 10, 99, 1000000}) {
    CAPTURE(k);
    CHECK(worst_deviation(k, k) <= 5);
  }
}

TEST_CASE("chi-square variates of a neighboring law, or off by one part in a hundred, are rejected") {
  for (std::int64_t k : {1, 2, 3, 10, 99}) {
    CAPTURE(k);
    CHECK(worst_deviation(k, k + 1) > 5);
    CHECK(worst_deviation(k, k, 1.01) > 5);
    if (k > 1) CHECK(worst_deviation(k, k - 1) > 5);
  }
  CHECK(worst_deviation(1000000, 1000000, 1.0001) > 5);
}

TEST_CASE("a lane's chi-square is its own first accepted attempt") {
  int beyond = 0;
  int longest = 0;
  double out[lanes];
  for (std::int64_t k : {1, 2, 3, 10, 99}) {
    for (std::uint64_t trial = 0; trial < 20000; trial += lanes) {
      chi_square(LaneStream<lanes>({72, trial}, random::StreamTag(6)), 300, k, out);
      for (int lane = 0; lane < lanes; ++lane) {
        int attempts;
        const double truth = one_by_one(72, trial + static_cast<std::uint64_t>(lane), 6, 300, k, attempts);
        beyond += !(std::abs(out[lane] - truth) <= 1e-14 * (truth + 0.1));
        longest = std::max(longest, attempts);
      }
    }
  }
  CHECK(beyond == 0);
  CHECK(longest >= 3);  // the lanes do need different numbers of attempts
}

TEST_CASE("the share of accepted attempts is what the doc block says") {
  const auto accepted = [](std::int64_t k) {
    constexpr int draws = 50000;
    int attempts = 0;
    int total = 0;
    for (std::uint64_t trial = 0; trial < draws; ++trial, total += attempts) one_by_one(73, trial, 6, 0, k, attempts);
    return static_cast<double>(draws) / total;
  };
  CHECK(accepted(2) == Approx(0.951).margin(0.005));
  CHECK(accepted(4) == Approx(0.981).margin(0.004));
  CHECK(accepted(99) == Approx(0.9994).margin(0.0006));
}

TEST_CASE("a lane's chi-square does not depend on how many lanes there are") {
  int different = 0;
  double together[lanes];
  for (std::int64_t k : {1, 2, 3, 10, 99, 1000000, 1000000000}) {
    for (std::uint64_t trial = 0; trial < 4096; trial += lanes) {
      chi_square(LaneStream<lanes>({74, trial}, random::StreamTag(2)), 5, k, together);
      for (int lane = 0; lane < lanes; ++lane) {
        double alone[1];
        chi_square(LaneStream<1>({74, trial + static_cast<std::uint64_t>(lane)}, random::StreamTag(2)), 5, k, alone);
        different += __builtin_bit_cast(std::uint64_t, alone[0]) != __builtin_bit_cast(std::uint64_t, together[lane]);
      }
    }
  }
  CHECK(different == 0);
}

TEST_CASE("at the largest degrees of freedom the standardized variate is still normal") {
  const double k = 1e9;
  double sum = 0;
  double square = 0;
  double out[lanes];
  constexpr std::uint64_t draws = 1u << 18;
  for (std::uint64_t trial = 0; trial < draws; trial += lanes) {
    chi_square(LaneStream<lanes>({75, trial}, random::StreamTag(0)), 0, 1000000000, out);
    for (const double value : out) {
      const double z = (value - k) / std::sqrt(2 * k);
      sum += z;
      square += z * z - 1;
    }
  }
  CHECK(std::abs(sum) <= 5 * std::sqrt(static_cast<double>(draws)));
  CHECK(std::abs(square) <= 5 * std::sqrt(2 * static_cast<double>(draws)));
}

// Below one degree of freedom no attempt is ever accepted, and the loop did not end.
TEST_CASE("below one degree of freedom a chi-square is NaN and the sampler returns") {
  for (std::int64_t k : {0, -1, -1000}) {
    double out[lanes];
    chi_square(LaneStream<lanes>({76, 0}, random::StreamTag(0)), 0, k, out);
    for (const double value : out) CHECK(std::isnan(value));
    double one[1];
    chi_square(LaneStream<1>({76, 0}, random::StreamTag(0)), 0, k, one);
    CHECK(std::isnan(one[0]));
  }
}

}  // namespace chi_square_test
