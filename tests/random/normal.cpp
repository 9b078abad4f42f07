#include "incontext/random/normal.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "random/law.hpp"
#include "support/catch.hpp"

namespace normal_test {

using namespace incontext;
using random::LaneStream;
using random::normals;

namespace {

constexpr int lanes = 64;
constexpr std::int64_t many = std::int64_t{1} << 25;
constexpr std::int64_t few = std::int64_t{1} << 22;

double normal_cdf(double x) { return boost::math::cdf(boost::math::normal(), x); }

/// Standardized deviations of a sample of N(0, 1), each a normal deviate if the law holds.
struct Deviations {
  std::vector<std::pair<std::string, double>> list;
  double largest = 0;  // |draw|

  [[nodiscard]] double of(const std::string& name) const {
    for (const auto& [key, z] : list) {
      if (key == name) return z;
    }
    return std::nan("");
  }
};

struct Unchanged {
  double operator()(double z) const { return z; }
};
// The wrong theories that a test must reject.
struct WiderByOneInThousand {
  double operator()(double z) const { return 1.001 * z; }
};
struct Shifted {
  double operator()(double z) const { return z + 0.005; }
};
/// Mean, variance and skewness as before (to 1e-4); the fourth moment is 3.1.
struct HeavierTails {
  double operator()(double z) const { return z + 0.004 * (z * z * z - 3 * z); }
};
/// Mean, variance and kurtosis as before (to 1e-3); the third moment is 0.036.
struct Skewed {
  double operator()(double z) const { return z + 0.006 * (z * z - 1); }
};
/// Half of the draws beyond 4 are lost.
struct TailCut {
  double operator()(double z) const { return std::abs(z) > 4 && std::fmod(std::abs(z) * 1e4, 1.0) < 0.5 ? z / 2 : z; }
};

template <class T, class Change>
Deviations deviations(std::uint64_t seed, std::int64_t draws, const Change& change) {
  constexpr int per_block = random::normals_per_block<T>;
  constexpr int blocks = 64;
  double power[6][lanes] = {};
  std::int64_t tail = 0;
  testing::Cells cells(-6, 6, 4096);
  Deviations result;
  T z[per_block][lanes];
  for (std::int64_t trial = 0; trial * blocks * per_block < draws; trial += lanes) {
    const LaneStream<lanes> stream({seed, static_cast<std::uint64_t>(trial)}, random::StreamTag(0));
    for (std::uint32_t block = 0; block < blocks; ++block) {
      normals(stream, block, z);
      for (const auto& row : z) {
        double changed[lanes];
        for (int lane = 0; lane < lanes; ++lane) changed[lane] = change(static_cast<double>(row[lane]));
        for (int lane = 0; lane < lanes; ++lane) {
          const double x = changed[lane];
          const double square = x * x;
          power[0][lane] += x;
          power[1][lane] += square;
          power[2][lane] += square * x;
          power[3][lane] += square * square;
          power[5][lane] += square * square * square;
        }
        for (const double x : changed) {
          cells.add(x);
          if (std::abs(x) > 4) {
            ++tail;
            result.largest = std::max(result.largest, std::abs(x));
          }
        }
      }
    }
  }
  const auto n = static_cast<double>(draws);
  const auto moment = [&](int order, double mean, double variance) {
    double sum = 0;
    for (const double part : power[order - 1]) sum += part;
    result.list.emplace_back("moment " + std::to_string(order), (sum / n - mean) / std::sqrt(variance / n));
  };
  moment(1, 0, 1);
  moment(2, 1, 2);
  moment(3, 0, 15);
  moment(4, 3, 96);
  moment(6, 15, 10170);
  const double beyond_4 = 2 * normal_cdf(-4);
  result.list.emplace_back("tail", (static_cast<double>(tail) / n - beyond_4) / std::sqrt(beyond_4 / n));
  const testing::Fit fit = cells.against(normal_cdf);
  result.list.emplace_back("cells", fit.chi_square_z);
  result.list.emplace_back("Kolmogorov", fit.ks_z);
  return result;
}

/// Six statistics of a pair, of mean 0 and variance 1 if the two are independent N(0, 1).
struct Dependence {
  static constexpr int count = 6;
  double sum[count] = {};
  double pairs = 0;

  void add(double a, double b) {
    const double mean_size = 0.79788456080286535588;  // sqrt(2/pi)
    const double size_variance = 0.36338022763241865692;
    const double cubic_a = a * (a * a - 3);
    const double cubic_b = b * (b * b - 3);
    sum[0] += a * b;
    sum[1] += (a * a - 1) * (b * b - 1) / 2;
    sum[2] += a * (b * b - 1) / std::sqrt(2.0);
    sum[3] += (a * a - 1) * b / std::sqrt(2.0);
    sum[4] += (std::abs(a) - mean_size) * (std::abs(b) - mean_size) / size_variance;
    sum[5] += cubic_a * cubic_b / 6;
    pairs += 1;
  }
  [[nodiscard]] double worst() const {
    double worst = 0;
    for (const double s : sum) worst = testing::worst_of({worst, s / std::sqrt(pairs)});
    return worst;
  }
};

template <class T>
using Block = T[random::normals_per_block<T>][lanes];

}  // namespace

TEMPLATE_TEST_CASE("normals have the moments, the tails and the distribution of N(0, 1)", "", float, double) {
  const Deviations found = deviations<TestType>(41, many, Unchanged{});
  CHECK(found.list.size() == 8);
  for (const auto& [name, z] : found.list) {
    INFO(name << ": z = " << z);
    CHECK(std::abs(z) <= 5);
  }
  CHECK(found.largest > 5);
  CHECK(found.largest <= (sizeof(TestType) == 4 ? 6.5556 : 8.572));
}

TEMPLATE_TEST_CASE("normals one part in a thousand too wide, shifted, skewed or with other tails are rejected", "",
                   float, double) {
  CHECK(std::abs(deviations<TestType>(42, many, WiderByOneInThousand{}).of("moment 2")) > 5);
  CHECK(std::abs(deviations<TestType>(43, few, HeavierTails{}).of("moment 4")) > 5);
  CHECK(std::abs(deviations<TestType>(44, few, Skewed{}).of("moment 3")) > 5);
  CHECK(std::abs(deviations<TestType>(45, few, TailCut{}).of("tail")) > 5);
  const Deviations shifted = deviations<TestType>(46, few, Shifted{});
  CHECK(std::abs(shifted.of("moment 1")) > 5);
  CHECK(shifted.of("Kolmogorov") > 5);
}

TEMPLATE_TEST_CASE("normals of a pair, of a block, of neighboring blocks, trials, streams and seeds are independent",
                   "", float, double) {
  constexpr int per_block = random::normals_per_block<TestType>;
  Dependence within_pair, within_block, blocks, trials, streams, seeds, correlated, common_radius;
  for (std::uint64_t trial = 0; trial < 1u << 15; trial += lanes) {
    const LaneStream<lanes> stream({51, trial}, random::StreamTag(4));
    const LaneStream<lanes> next_stream({51, trial}, random::StreamTag(5));
    const LaneStream<lanes> next_seed({52, trial}, random::StreamTag(4));
    for (std::uint32_t block = 0; block < 128; block += 2) {
      Block<TestType> here, next, other, seeded;
      normals(stream, block, here);
      normals(stream, block + 1, next);
      normals(next_stream, block, other);
      normals(next_seed, block, seeded);
      for (int lane = 0; lane < lanes; ++lane) {
        const double a = here[0][lane];
        const double b = here[1][lane];
        within_pair.add(a, b);
        within_block.add(here[0][lane], here[per_block - 1][lane]);
        blocks.add(a, next[0][lane]);
        streams.add(a, other[0][lane]);
        seeds.add(a, seeded[0][lane]);
        if (lane + 1 < lanes) trials.add(a, here[0][lane + 1]);
        correlated.add(a, b + 0.005 * a);
        common_radius.add(a, b * (1 + 0.005 * (a * a - 1)));
      }
    }
  }
  CHECK(within_pair.worst() <= 5);
  CHECK(within_block.worst() <= 5);
  CHECK(blocks.worst() <= 5);
  CHECK(trials.worst() <= 5);
  CHECK(streams.worst() <= 5);
  CHECK(seeds.worst() <= 5);
  CHECK(correlated.worst() > 5);
  CHECK(common_radius.worst() > 5);
}

TEMPLATE_TEST_CASE("the two of a pair point in every direction alike", "", float, double) {
  testing::Cells directions(-0.5, 0.5, 1000);
  testing::Cells lost_quarter(-0.5, 0.5, 1000);
  for (std::uint64_t trial = 0; trial < 1u << 20; trial += lanes) {
    const LaneStream<lanes> stream({53, trial}, random::StreamTag(4));
    Block<TestType> z;
    normals(stream, 0, z);
    for (int lane = 0; lane < lanes; ++lane) {
      const double turns = std::atan2(z[1][lane], z[0][lane]) / 6.28318530717958647693;
      directions.add(turns);
      lost_quarter.add(turns > 0.24 && turns < 0.25 && trial % 256 == 0 ? turns - 0.5 : turns);
    }
  }
  const auto uniform = [](double turns) { return turns + 0.5; };
  const testing::Fit fit = directions.against(uniform);
  CHECK(std::abs(fit.chi_square_z) <= 5);
  CHECK(fit.ks_z <= 5);
  CHECK(lost_quarter.against(uniform).chi_square_z > 5);
}

TEST_CASE("single precision normals follow the same map in double to 3.5e-7 of the radius") {
  std::mt19937_64 engine(54);
  double worst = 0;
  double largest = 0;
  std::int64_t beyond = 0;
  for (int i = 0; i < 4000000; ++i) {
    auto word0 = static_cast<std::uint32_t>(engine());
    auto word1 = static_cast<std::uint32_t>(engine());
    if (i % 4 == 1) word0 >>= i / 4 % 32;            // large radii
    if (i % 4 == 2) word0 = ~(word0 >> i / 4 % 32);  // small ones
    if (i % 4 == 3) word1 >>= i / 4 % 32;            // near an axis
    float first, second;
    random::box_muller(word0, word1, first, second);
    const double u = random::uniform_open_closed(word0);
    const double radius = std::sqrt(-2 * std::log(u));
    const double signed_radius = word0 >> 31 == 0 ? radius : -radius;
    const double angle = 6.28318530717958647693 * static_cast<double>(static_cast<std::int32_t>(word1)) * 0x1p-33;
    const double error =
        std::max(std::abs(first - signed_radius * std::cos(angle)), std::abs(second - signed_radius * std::sin(angle)));
    beyond += !(error <= 3.5e-7 * radius);
    if (radius > 0) worst = std::max(worst, error / radius);
    largest = std::max(largest, static_cast<double>(std::max(std::abs(first), std::abs(second))));
  }
  INFO("worst " << worst << " of the radius");
  CHECK(beyond == 0);
  CHECK(worst > 1.5e-7);
  CHECK(largest > 6.5);
}

TEST_CASE("normals stay below their limits at the extreme words") {
  double largest_single = 0;
  double largest_double = 0;
  std::mt19937_64 engine(55);
  const std::uint32_t corners[] = {0, ~0u, 1u << 31, (1u << 31) - 1};
  for (std::uint32_t i = 0; i < 100000; ++i) {
    const auto any = i < 4 ? corners[i] : static_cast<std::uint32_t>(engine());
    const auto other = static_cast<std::uint32_t>(engine());
    float a, b;
    random::box_muller(i % 2, any, a, b);
    largest_single = std::max({largest_single, std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b))});
    double c, d;
    random::box_muller(0, i % 4096, any, other, c, d);
    largest_double = std::max({largest_double, std::abs(c), std::abs(d)});
  }
  CHECK(largest_single <= 6.5556);
  CHECK(largest_single > 6.555);
  CHECK(largest_double <= 8.572);
  CHECK(largest_double > 8.571);

  float a, b;  // u = 1: a radius of exactly zero
  random::box_muller(~0u, 12345, a, b);
  CHECK(a == 0);
  CHECK(b == 0);
  double c, d;
  random::box_muller(~0u, ~0u, 12345, 678, c, d);
  CHECK(std::abs(c) <= 0x1p-26);
  CHECK(std::isfinite(c));
  CHECK(std::isfinite(d));
}

TEMPLATE_TEST_CASE("a lane's normals do not depend on how many lanes there are", "", float, double) {
  constexpr int per_block = random::normals_per_block<TestType>;
  const LaneStream<lanes> wide({61, 640}, random::StreamTag(2));
  Block<TestType> together;
  int different = 0;
  for (std::uint32_t block = 0; block < 64; ++block) {
    normals(wide, block, together);
    for (int lane = 0; lane < lanes; ++lane) {
      const LaneStream<1> narrow({61, 640 + static_cast<std::uint64_t>(lane)}, random::StreamTag(2));
      TestType alone[per_block][1];
      normals(narrow, block, alone);
      for (int i = 0; i < per_block; ++i) {
        different +=
            !(alone[i][0] == together[i][lane] && std::signbit(alone[i][0]) == std::signbit(together[i][lane]));
      }
    }
  }
  CHECK(different == 0);
}

}  // namespace normal_test
