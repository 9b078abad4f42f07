#include "incontext/scoring/normsoftmax.hpp"

#include <cmath>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("NormSoftmax is softmax at its own standard deviation or variance, capped by the temperature", "[scoring]") {
  const std::vector<double> z{2, -2, 4, 0};
  const double variance = (1 + 9 + 9 + 1) / 4.0;
  const auto same = [&](ScoreScale scale, double temperature, double divisor) {
    return distance(weights_of(NormSoftmax<double>{temperature, scale}, z), weights_of(Softmax<double>{divisor}, z)) <
           1e-15;
  };
  CHECK(same(ScoreScale::population_stddev, 8, std::sqrt(variance)));
  CHECK(same(ScoreScale::sample_stddev, 8, std::sqrt(variance * 4 / 3)));
  CHECK(same(ScoreScale::population_variance, 8, variance));
  CHECK(same(ScoreScale::population_stddev, 2, 2));
  CHECK(same(ScoreScale::population_variance, 4.5, 4.5));
  CHECK_FALSE(same(ScoreScale::sample_stddev, 8, std::sqrt(variance)));
}

TEST_CASE("below the cap, scaling and shifting leave NormSoftmax alone, and its derivative along both is zero",
          "[scoring]") {
  Random random(41);
  const auto z = random.normals(15, 3);
  for (const auto scale : {ScoreScale::population_stddev, ScoreScale::sample_stddev}) {
    const NormSoftmax<double> map{1e300, scale};
    for (const double scale : {1e-300, 1e-6, 7.0, 1e290}) {
      auto moved = z;
      for (double& x : moved) x = scale * (x + 2);
      CHECK(distance(weights_of(map, moved), weights_of(map, z)) < 1e-13);
    }
    CHECK(largest_size(jvp_of(map, z, z)) < 1e-15);
    CHECK(largest_size(jvp_of(map, z, std::vector<double>(15, 1.0))) < 1e-15);
  }
  // the variance variant flattens instead
  const NormSoftmax<double> variance{1e300, ScoreScale::population_variance};
  auto wider = z;
  for (double& x : wider) x *= 2;
  CHECK(largest_size(weights_of(variance, wider)) < largest_size(weights_of(variance, z)));
}

TEST_CASE("equal scores are divided by the temperature, also if they differ by a rounding", "[scoring]") {
  for (const auto scale : {ScoreScale::population_stddev, ScoreScale::sample_stddev, ScoreScale::population_variance}) {
    const NormSoftmax<double> map{8, scale};
    CHECK(weights_of(map, {3, 3, -infinity, 3, 3}) == std::vector<double>{0.25, 0.25, 0, 0.25, 0.25});
    const double next = std::nextafter(0.1, 1.0);
    for (const auto& z :
         {std::vector<double>{3, 3, 3}, {0.1, 0.1, 0.1}, {0.1, next, 0.1}, std::vector<double>(40, -0.7)}) {
      std::vector<double> u(z.size());
      u[0] = 1;
      const Softmax<double> softmax{8};
      CHECK(distance(jvp_of(map, z, u), jvp_of(softmax, z, u)) < 1e-16);
      CHECK(distance(vjp_of(map, z, u), vjp_of(softmax, z, u)) < 1e-16);
      CHECK(largest_size(derivative_of(map, parameter::Temperature{}, z)) < 1e-17);
    }
    // power: what is eight roundings apart has a scale of its own; its variance is so small that all weight is on one
    const double apart = largest_size(jvp_of(map, {0.1, 0.1 + 8 * (next - 0.1), 0.1}, {1, 0, 0}));
    CHECK((scale == ScoreScale::population_variance ? apart == 0 : apart > 1e12));
    CHECK(jvp_of(map, {0, 0}, {1, -1}) == std::vector<double>{0.0625, -0.0625});
    CHECK(weights_of(map, {-infinity, 5}) == std::vector<double>{0, 1});
    CHECK(jvp_of(map, {-infinity, 5}, {1, 1}) == std::vector<double>{0, 0});
  }
}

TEST_CASE("at sigma = tau the branch of the temperature is taken", "[scoring]") {
  const std::vector<double> z{2, -2, 2, -2};  // population standard deviation exactly 2
  const NormSoftmax<double> map{2, ScoreScale::population_stddev};
  CHECK(jvp_of(map, z, {1, 0, 0, 0}) == jvp_of(Softmax<double>{2}, z, {1, 0, 0, 0}));
  CHECK(derivative_of(map, parameter::Temperature{}, z)[0] != 0);
  CHECK(derivative_of(NormSoftmax<double>{2.000001}, parameter::Temperature{}, z)[0] == 0);
  CHECK(distance(weights_of(NormSoftmax<double>{2 + 1e-12}, z), weights_of(map, z)) < 1e-12);
}

TEST_CASE("no row of n scores gives NormSoftmax a larger weight than one score above n - 1 equal ones", "[scoring]") {
  Random random(42);
  for (const std::size_t n : {std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{40}}) {
    const double count = static_cast<double>(n);
    const double bound = 1 / (1 + (count - 1) * std::exp(-count / std::sqrt(count - 1)));
    std::vector<double> spike(n, -1.5);
    spike[n / 2] = 17;
    CHECK(std::abs(largest_size(weights_of(NormSoftmax<double>{1e9}, spike)) - bound) < 1e-14);
    for (int trial = 0; trial < 200; ++trial) {
      auto z = random.normals(n);
      for (double& x : z) x = x * x * x;
      CHECK(largest_size(weights_of(NormSoftmax<double>{1e9}, z)) <= bound * (1 + 1e-14));
    }
  }
}

TEST_CASE("over a matrix all rows share one sigma, and a row without visible score is NaN alone", "[scoring]") {
  const std::vector<double> z{1, 2, 4, -1, -infinity, 3, -infinity, -infinity, -infinity};
  std::vector<double> out(9);
  const MatrixNormSoftmax<double> map{64};
  weights(map, MatrixView<const double>(z.data(), 3, 3), MatrixView<double>(out.data(), 3, 3));
  const std::vector<double> visible{1, 2, 4, -1, 3};
  double mean = total(visible) / 5, variance = 0;
  for (const double x : visible) variance += (x - mean) * (x - mean) / 5;
  const Softmax<double> softmax{std::sqrt(variance)};
  CHECK(distance({out[0], out[1], out[2]}, weights_of(softmax, {1, 2, 4})) < 1e-15);
  CHECK(distance({out[3], out[4], out[5]}, weights_of(softmax, {-1, -infinity, 3})) < 1e-15);
  CHECK(all_nan(std::vector<double>{out[6], out[7], out[8]}));
  CHECK(distance({out[0], out[1], out[2]}, weights_of(NormSoftmax<double>{64}, {1, 2, 4})) > 1e-3);
}

}  // namespace incontext::testing
