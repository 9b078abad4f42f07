#include "incontext/statistics/moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "incontext/random/normal.hpp"
#include "support/catch.hpp"

namespace moments_test {

using namespace incontext;
using statistics::Moments;
using statistics::moments_of;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sample(std::int64_t count, double mean, std::uint32_t stream) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    double z[2][1];
    normals(random::LaneStream<1>({92, static_cast<std::uint64_t>(i)}, random::StreamTag(stream)), 0, z);
    values.push_back(mean + z[0][0]);
  }
  return values;
}

Moments of(const std::vector<double>& values) {
  return moments_of(values.data(), static_cast<std::int64_t>(values.size()));
}

}  // namespace

TEST_CASE("moments of a few whole numbers are exact") {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Moments moments = of(values);
  CHECK(moments.count == 9);
  CHECK(moments.mean == 5);
  CHECK(moments.sum_of_squares == 60);
  CHECK(moments.non_finite == 0);

  const std::vector<double> one{-2.5};
  CHECK(of(one).count == 1);
  CHECK(of(one).mean == -2.5);
  CHECK(of(one).sum_of_squares == 0);

  CHECK(same_bits(moments_of(values.data(), 0), Moments{}));
  CHECK(same_bits(moments_of<double>(nullptr, 0), Moments{}));
}

TEST_CASE("every count around the sixteen partial sums is right") {
  for (std::int64_t count = 1; count <= 100; ++count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0);
    const Moments moments = of(values);
    const auto n = static_cast<double>(count);
    CAPTURE(count);
    CHECK(moments.count == count);
    CHECK(moments.mean == (n + 1) / 2);
    CHECK(moments.sum_of_squares == n * (n * n - 1) / 12);
  }
}

TEST_CASE("values that are not finite are counted apart and left out") {
  const std::vector<double> finite = sample(61, 3, 1);
  for (const double bad : {infinity, -infinity, not_a_number}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{61}}) {
      std::vector<double> values = finite;
      values.insert(values.begin() + static_cast<std::ptrdiff_t>(at), bad);
      const Moments moments = of(values);
      const Moments without = of(finite);
      CHECK(moments.count == 61);
      CHECK(moments.non_finite == 1);
      CHECK(moments.mean == Approx(without.mean).epsilon(1e-14));
      CHECK(moments.sum_of_squares == Approx(without.sum_of_squares).epsilon(1e-14));
    }
  }
  const std::vector<double> bad{infinity, not_a_number, -infinity, not_a_number};
  CHECK(of(bad).count == 0);
  CHECK(of(bad).non_finite == 4);
  CHECK(of(bad).mean == 0);
  CHECK(of(bad).sum_of_squares == 0);

  const std::vector<float> singles{1, 2, std::numeric_limits<float>::infinity(), 3};
  CHECK(moments_of(singles.data(), 4).count == 3);
  CHECK(moments_of(singles.data(), 4).mean == 2);
  CHECK(moments_of(singles.data(), 4).sum_of_squares == 2);

  const Moments merged = merge(of(bad), of(finite));
  CHECK(merged.count == 61);
  CHECK(merged.non_finite == 4);
  CHECK(merge(of(finite), of(bad)).non_finite == 4);
  CHECK(merge(of(bad), of(bad)).non_finite == 8);
}

TEST_CASE("an empty side gives back the other, bit by bit") {
  for (const double mean : {0.0, -0.0, 0.1, 1e8, -3e-300}) {
    for (std::int64_t count : {1, 2, 33}) {
      const Moments moments = of(sample(count, mean, 2));
      CHECK(same_bits(merge(moments, Moments{}), moments));
      CHECK(same_bits(merge(Moments{}, moments), moments));
    }
  }
  const Moments negative_zero{1, -0.0, 0.0, 0};
  CHECK(same_bits(merge(Moments{}, negative_zero), negative_zero));
  CHECK(same_bits(merge(negative_zero, Moments{}), negative_zero));
  CHECK(same_bits(merge(Moments{}, Moments{}), Moments{}));
}

TEST_CASE("merging is commutative and associative to rounding") {
  for (const double mean : {0.0, 5.0, 1e6}) {
    const Moments a = of(sample(10, mean, 3));
    const Moments b = of(sample(1000, mean + 2, 4));
    const Moments c = of(sample(1, mean - 7, 5));
    const Moments left = merge(merge(a, b), c);
    const Moments right = merge(a, merge(b, c));
    const Moments swapped = merge(c, merge(b, a));
    for (const Moments& other : {right, swapped}) {
      CHECK(other.count == left.count);
      CHECK(std::abs(other.mean - left.mean) <= 4e-16 * (std::abs(mean) + 2));
      CHECK(std::abs(other.sum_of_squares - left.sum_of_squares) <= (1e-15 + 1e-15 * mean) * left.sum_of_squares);
    }
    std::vector<double> all = sample(10, mean, 3);
    for (const double value : sample(1000, mean + 2, 4)) all.push_back(value);
    all.push_back(sample(1, mean - 7, 5)[0]);
    CHECK(of(all).mean == Approx(left.mean).epsilon(1e-14));
    CHECK(of(all).sum_of_squares == Approx(left.sum_of_squares).epsilon(1e-9));
  }
}

TEST_CASE("moments are plain data, and a shift leaves the sum of squares") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<Moments>);
  const Moments here = of(sample(5000, 0, 6));
  const Moments shifted = of(sample(5000, 1024, 6));
  CHECK(shifted.mean == Approx(here.mean + 1024).epsilon(1e-14));
  CHECK(shifted.sum_of_squares == Approx(here.sum_of_squares).epsilon(1e-12));
}

}  // namespace moments_test
