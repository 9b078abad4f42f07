#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/random/normal.hpp"
#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

using namespace incontext;
using statistics::Moments;
using testing::Real50;

namespace {

template <class T>
std::vector<T> normal_sample(std::int64_t count, double mean, double stddev, std::uint32_t stream) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    double z[2][1];
    normals(random::LaneStream<1>({91, static_cast<std::uint64_t>(i)}, random::StreamTag(stream)), 0, z);
    values.push_back(static_cast<T>(mean + stddev * z[0][0]));
  }
  return values;
}

struct Truth {
  Real50 mean = 0;
  Real50 sum_of_squares = 0;
};

template <class T>
Truth truth_of(const std::vector<T>& values) {
  Truth truth;
  for (const T value : values) truth.mean += Real50(value);
  truth.mean /= static_cast<double>(values.size());
  for (const T value : values) truth.sum_of_squares += (Real50(value) - truth.mean) * (Real50(value) - truth.mean);
  return truth;
}

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Errors in eps: of the mean, relative to root mean square; of the sum of squares, relative.
struct Error {
  double mean;
  double sum_of_squares;
};

Error error_of(const Moments& moments, const Truth& truth) {
  const Real50 scale = sqrt(truth.mean * truth.mean + truth.sum_of_squares / static_cast<double>(moments.count));
  return {static_cast<double>(abs(moments.mean - truth.mean) / scale) / eps,
          static_cast<double>(abs(moments.sum_of_squares / truth.sum_of_squares - 1)) / eps};
}

/// Root mean square over standard deviation.
double condition_of(const Moments& moments) {
  const double variance = moments.sum_of_squares / static_cast<double>(moments.count);
  return std::sqrt(moments.mean * moments.mean / variance + 1);
}

}  // namespace

TEMPLATE_TEST_CASE("moments of a sample are those of 50 digits, however badly conditioned", "", float, double) {
  struct Case {
    double mean, stddev;
  };
  const bool single = sizeof(TestType) == 4;
  std::uint32_t stream = 0;
  for (const Case& at :
       {Case{0, 1}, Case{1, 1}, Case{-3, 1e-4}, Case{single ? 1e4 : 1e8, 1}, Case{1e20, 1e19}, Case{1e-20, 1e-22}}) {
    for (std::int64_t count : {2, 15, 16, 17, 100, 4097, 50000}) {
      CAPTURE(at.mean, at.stddev, count);
      const std::vector<TestType> values = normal_sample<TestType>(count, at.mean, at.stddev, ++stream);
      const Moments moments = statistics::moments_of(values.data(), count);
      CHECK(moments.count == count);
      CHECK(moments.non_finite == 0);
      const Error error = error_of(moments, truth_of(values));
      const double bound = static_cast<double>(count) / 16 + 8;
      const double shift = bound * eps * condition_of(moments);
      CHECK(error.mean <= bound);
      CHECK(error.sum_of_squares <= bound + shift * shift / eps);
      // what a random sample reaches
      CHECK(error.mean <= 2);
      CHECK(error.sum_of_squares <= 200);
    }
  }
}

TEST_CASE("merged moments are those of 50 digits, however the sample is cut") {
  const std::int64_t count = 40000;
  for (const double mean : {0.0, 1e8}) {
    const std::vector<double> values = normal_sample<double>(count, mean, 1, 77);
    const Truth truth = truth_of(values);
    for (const std::int64_t piece : {1, 7, 256, 19999}) {
      CAPTURE(mean, piece);
      Moments merged;
      for (std::int64_t at = 0; at < count; at += piece) {
        const std::int64_t size = std::min(piece, count - at);
        merged = merge(merged, statistics::moments_of(values.data() + at, size));
      }
      CHECK(merged.count == count);
      const Error error = error_of(merged, truth);
      CHECK(error.mean <= 32);
      CHECK(error.sum_of_squares <= 32 + condition_of(merged));
    }
  }
}

TEST_CASE("the textbook's one-pass sum of squares is far outside these bounds") {
  const std::vector<double> values = normal_sample<double>(1000, 1e8, 1, 78);
  Moments one_pass;
  double squares = 0;
  for (const double value : values) {
    one_pass.count += 1;
    one_pass.mean += value;
    squares += value * value;
  }
  one_pass.mean /= 1000;
  one_pass.sum_of_squares = squares - 1000 * one_pass.mean * one_pass.mean;
  CHECK(error_of(one_pass, truth_of(values)).sum_of_squares > 32 + 1e8);
}
