#include "incontext/random/sphere.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"

namespace sphere_test {

// Points of the sphere: lengths to rounding, the moments of a cosine by z (|z| <= 5, fixed seeds), and the moments of
// the neighboring dimension refused.

namespace {

using namespace incontext;

template <int W, class T>
std::vector<T> sphere_points(int dimension, std::uint64_t first, std::uint32_t block) {
  std::vector<T> rows(static_cast<std::size_t>(dimension * W));
  random::sphere_point(random::LaneStream<W>({41, first}, random::StreamTag(7)), block, dimension, rows.data(), W);
  return rows;
}

/// z of the mean of a power of the first component, and of the product of the first two.
double z_of_power(int dimension, int power, double theory) {
  statistics::Moments moments;
  for (std::uint64_t first = 0; first < (1u << 16); first += 64) {
    const auto rows = sphere_points<64, float>(dimension, first, 0);
    double values[64];
    for (std::size_t lane = 0; lane < 64; ++lane) values[lane] = std::pow(static_cast<double>(rows[lane]), power);
    moments = statistics::merge(moments, statistics::moments_of(values, 64));
  }
  return statistics::agree(theory, statistics::Estimate(moments)).z;
}

template <class T>
double worst_length(int dimension) {
  double worst = 0;
  for (std::uint64_t first = 0; first < 640; first += 64) {
    const auto rows = sphere_points<64, T>(dimension, first, 3);
    for (std::size_t lane = 0; lane < 64; ++lane) {
      long double square = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i) {
        square += static_cast<long double>(rows[i * 64 + lane]) * static_cast<long double>(rows[i * 64 + lane]);
      }
      const auto off = static_cast<double>(std::abs(std::sqrt(square) - 1));
      if (!(off <= worst)) worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
    }
  }
  return worst / static_cast<double>(std::numeric_limits<T>::epsilon());
}

}  // namespace

TEST_CASE("sphere: points have length 1 to rounding") {
  for (const int d : {1, 2, 3, 5, 50, 400}) {
    CAPTURE(d);
    CHECK(worst_length<float>(d) <= 4 + d / 4.0);
    CHECK(worst_length<double>(d) <= 4 + d / 4.0);
  }
}

TEST_CASE("sphere: a point whose normals are all zero is the first axis, not a quotient of zeros") {
  // Found by search: in float a normal pair is (0, 0) where its first uniform is 1.
  constexpr std::uint64_t trial = 53290162;
  Lanes<float, 1> normal[random::normals_per_block<float>];
  random::normals(random::LaneStream<1>({41, trial}, random::StreamTag(7)), 0u, normal);
  REQUIRE(normal[0][0] == 0.0f);
  REQUIRE(normal[1][0] == 0.0f);
  CHECK(sphere_points<1, float>(2, trial, 0) == std::vector<float>{1.0f, 0.0f});
  const auto rows = sphere_points<64, float>(2, trial - 50, 0);
  CHECK(rows[50] == 1.0f);
  CHECK(rows[64 + 50] == 0.0f);
  CHECK(std::abs(std::hypot(rows[49], rows[64 + 49]) - 1) < 1e-6f);
}

TEST_CASE("sphere: a cosine has the moments of its dimension and of no other") {
  for (const int d : {2, 3, 4, 9}) {
    CAPTURE(d);
    const double n = d;
    CHECK(std::abs(z_of_power(d, 1, 0)) <= 5);
    CHECK(std::abs(z_of_power(d, 2, 1 / n)) <= 5);
    CHECK(std::abs(z_of_power(d, 3, 0)) <= 5);
    CHECK(std::abs(z_of_power(d, 4, 3 / (n * (n + 2)))) <= 5);
    CHECK(std::abs(z_of_power(d, 2, 1 / (n + 1))) > 5);
    CHECK(std::abs(z_of_power(d, 4, 3 / ((n + 1) * (n + 3)))) > 5);
  }
}

TEST_CASE("sphere: a trial's point is its own, whatever is drawn beside it") {
  for (const int d : {3, 6}) {
    const auto together = sphere_points<64, float>(d, 128, 9);
    const auto apart = sphere_points<64, float>(d, 128, 9 + random::sphere_blocks<float>(d));
    int same = 0, shared = 0;
    for (std::size_t lane = 0; lane < 64; ++lane) {
      const auto alone = sphere_points<1, float>(d, 128 + lane, 9);
      for (std::size_t i = 0; i < static_cast<std::size_t>(d); ++i) {
        same += alone[i] == together[i * 64 + lane] ? 1 : 0;
        shared += alone[i] == apart[i * 64 + lane] ? 1 : 0;
      }
    }
    CHECK(same == 64 * d);
    CHECK(shared <= 1);
  }
}

}  // namespace sphere_test
