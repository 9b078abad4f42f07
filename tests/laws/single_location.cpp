#include "incontext/laws/single_location.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "laws/refusal.hpp"
#include "scoring/maps.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// The squared error of one draw: scores, values, the weights of a row, the answer.
template <class Map>
double drawn_error(const Map& map, std::size_t n, double separation, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  std::vector<double> scores(n), values(n);
  for (std::size_t i = 0; i < n; ++i) {
    scores[i] = normal(engine) + (i == 0 ? separation : 0);
    values[i] = normal(engine);
  }
  const auto weights = weights_of(map, scores);
  double answer = 0;
  for (std::size_t i = 0; i < n; ++i) answer += weights[i] * values[i];
  return (answer - values[0]) * (answer - values[0]);
}

/// The error of two tokens as a double sum over their scores: one weight is b, the error is 2 b^2 of the wrong one.
template <class Map>
double error_of_two(const Map& map, double separation) {
  double sum = 0, mass = 0;
  for (double x = -9; x <= 9; x += 1.0 / 16) {
    for (double y = -9; y <= 9; y += 1.0 / 16) {
      const double measure = std::exp(-(x * x + y * y) / 2);
      const double wrong = weights_of(map, std::vector<double>{x + separation, y})[1];
      mass += measure;
      sum += measure * 2 * wrong * wrong;
    }
  }
  return sum / mass;
}

}  // namespace

TEST_CASE("drawn tokens have this error under softmax, SSMax and SSA, and not that of a shifted score",
          "[laws][statistics]") {
  constexpr std::size_t n = 20;
  constexpr double separation = 2;
  std::mt19937_64 engine(2509);
  // 4 comparisons at |z| <= 5
  const auto judge = [&](const auto& map) {
    SampleMean error;
    for (int trial = 0; trial < 100'000; ++trial) error.add(drawn_error(map, n, separation, engine));
    const double exact = single_location_error(map, n, separation).error;
    CAPTURE(exact, error.mean(), error.standard_error());
    CHECK(std::abs(error.z(exact)) <= 5);
    CHECK_FALSE(std::abs(error.z(single_location_error(map, n, separation - 0.25).error)) <= 5);
    CHECK_FALSE(std::abs(error.z(single_location_error(map, n + 5, separation).error)) <= 5);
  };
  judge(scoring::Softmax<double>{0.5});
  judge(scoring::Softmax<double>{1.0});
  judge(scoring::SSMax<double>{0.6, 0.1});
  judge(scoring::SSA<double>{1.0, 3.0});
}

TEST_CASE("two tokens: the error is a double sum over their scores", "[laws]") {
  for (const double separation : {-1.0, 0.0, 0.5, 3.0}) {
    CAPTURE(separation);
    for (const double temperature : {0.5, 2.0}) {
      const scoring::Softmax<double> map{temperature};
      CHECK(relative(single_location_error(map, 2, separation).error, error_of_two(map, separation)) < 1e-12);
    }
    const scoring::SSMax<double> ssmax{1.5, 0.25};
    CHECK(relative(single_location_error(ssmax, 2, separation).error, error_of_two(ssmax, separation)) < 1e-12);
    CHECK_FALSE(relative(single_location_error(ssmax, 3, separation).error, error_of_two(ssmax, separation)) < 1e-3);
  }
}

TEST_CASE("softmax at the separation has the least error, one minus the weight of a random needle", "[laws]") {
  for (const double separation : {0.25, 2.0, 6.0}) {
    for (const std::int64_t n : {2, 20, 1000, 1'000'000}) {
      CAPTURE(separation, n);
      const auto at = [&](double beta) {
        return single_location_error(scoring::Softmax<double>{1 / beta}, n, separation);
      };
      const auto best = at(separation);
      const double square = separation * separation;
      const RandomNeedle<double> needle{static_cast<double>(n - 1), separation, square, separation};
      const double weight = random_needle_weight(needle).value;
      CHECK(relative(best.needle_weight, weight) < 1e-12);
      CHECK(std::abs(best.error - (1 - weight)) < 1e-12);
      // the posterior's own odds: E sum a^2 = E a_0
      CHECK(relative(best.error, best.noise_weight) < 1e-12);
      CHECK(relative(best.ipr, best.needle_weight) < 1e-12);
      CHECK(std::abs(1 - 2 * best.needle_weight + best.ipr - best.error) < 1e-12);
      CHECK(relative(best.needle_weight + best.noise_weight, 1) < 1e-12);
      CHECK(single_location_bayes_error(n, separation) == best.noise_weight);
      CHECK(single_location_bayes_error(n, -separation) == best.noise_weight);
      CHECK(at(0.8 * separation).error > best.error);
      CHECK(at(1.25 * separation).error > best.error);
      CHECK_FALSE(relative(at(1.25 * separation).error, at(1.25 * separation).noise_weight) < 1e-12);
      // the near miss of a needle whose score is lower by half of its variance
      const RandomNeedle<double> lower{needle.noise_count, separation, square / 2, separation};
      if (n > 2 && separation > 1 && weight > 1e-4) {
        CHECK_FALSE(relative(random_needle_weight(lower).value, best.needle_weight) < 0.01);
      }
    }
  }
}

TEST_CASE("linear attention at its best gain and bias, by the gain and bias tried", "[laws]") {
  for (const std::int64_t n : {2, 7, 300}) {
    for (const double separation : {0.3, 2.0, 12.0}) {
      CAPTURE(n, separation);
      // 1 - 2 gain E (chi_0 + c) + gain^2 E sum (chi_i + c)^2
      const auto error = [&](double gain, double bias) {
        const double squares = static_cast<double>(n) * (1 + bias * bias) + separation * (separation + 2 * bias);
        return 1 - 2 * gain * (separation + bias) + gain * gain * squares;
      };
      const auto best_gain = [&](double bias) {
        return (separation + bias) /
               (static_cast<double>(n) * (1 + bias * bias) + separation * (separation + 2 * bias));
      };
      const double bias = static_cast<double>(n) / (separation * static_cast<double>(n - 1));
      CHECK(relative(error(best_gain(0), 0), single_location_linear_error(n, separation)) < 1e-13);
      CHECK(relative(error(best_gain(bias), bias), single_location_affine_error(n, separation)) < 1e-13);
      for (const double factor : {0.9, 1.1}) {
        CHECK(error(factor * best_gain(0), 0) > single_location_linear_error(n, separation));
        const double other = factor * bias;
        CHECK(error(best_gain(other), other) > single_location_affine_error(n, separation));
      }
      CHECK(single_location_affine_error(n, separation) < single_location_linear_error(n, separation));
      CHECK(single_location_bayes_error(n, separation) < single_location_affine_error(n, separation));
    }
  }
}

TEST_CASE("drawn tokens have the error of linear attention", "[laws][statistics]") {
  std::mt19937_64 engine(10);
  std::normal_distribution<double> normal;
  constexpr int n = 20;
  constexpr double separation = 2, gain = separation / (n + separation * separation);
  SampleMean error;
  for (int trial = 0; trial < 100'000; ++trial) {
    double answer = 0, label = 0;
    for (int i = 0; i < n; ++i) {
      const double value = normal(engine), score = normal(engine) + (i == 0 ? separation : 0);
      answer += gain * score * value;
      if (i == 0) label = value;
    }
    error.add((answer - label) * (answer - label));
  }
  CHECK(std::abs(error.z(single_location_linear_error<double>(n, separation))) <= 5);
  CHECK_FALSE(std::abs(error.z(single_location_affine_error<double>(n, separation))) <= 5);
}

TEST_CASE("softmax finds the token from sqrt(2 log n) on, linear attention from sqrt(n) on", "[laws]") {
  double before = 1;
  for (const std::int64_t n : {100, 10'000, 100'000'000}) {
    const double threshold = std::sqrt(2 * std::log(static_cast<double>(n)));
    CAPTURE(n, threshold);
    CHECK(single_location_bayes_error(n, threshold + 2) < 0.1);
    CHECK(single_location_bayes_error(n, threshold - 2) > 0.75);
    // linear attention at the separation at which softmax is at a tenth
    const double linear = 1 - single_location_linear_error(n, threshold + 2);
    CHECK(linear < before);
    before = linear;
  }
  CHECK(before < 1e-6);
  CHECK(relative(single_location_linear_error<double>(10'000, 100.0), 0.5) < 1e-15);
}

TEST_CASE("limits of single-location regression, and other precisions", "[laws]") {
  const scoring::Softmax<double> softmax{1.0};
  CHECK(single_location_error(softmax, 1, 2.0).error == 0);
  CHECK(single_location_error(softmax, 1, 2.0).needle_weight == 1);
  CHECK(single_location_bayes_error(1, 0.0) == 0);
  CHECK(relative(single_location_bayes_error(8, 0.0), 7.0 / 8) < 1e-15);
  CHECK(relative(single_location_bayes_error(8, 1e-6), 7.0 / 8) < 1e-11);
  CHECK(relative(single_location_error(scoring::Softmax<double>{1e9}, 8, 2.0).error, 7.0 / 8) < 1e-8);
  CHECK(single_location_affine_error(1, 3.0) == 0);
  CHECK(relative(single_location_affine_error(8, 0.0), 7.0 / 8) < 1e-15);
  CHECK(single_location_linear_error(8, 0.0) == 1);
  CHECK(relative(single_location_linear_error(1, 3.0), 0.1) < 1e-15);
  const double exact = single_location_bayes_error(20, 2.0);
  CHECK(relative(single_location_bayes_error(20, 2.0F), exact) < 1e-5);
  CHECK(relative(static_cast<double>(single_location_bayes_error(20, 2.0L)), exact) < 1e-14);
}

TEST_CASE("single-location regression refuses bad lengths, separations and maps by name", "[laws]") {
  const scoring::Softmax<double> softmax{1.0};
  CHECK(refuses<std::invalid_argument>([&] { single_location_error(softmax, 0, 1.0); }, {"row_length", "0"}));
  CHECK(refuses<std::invalid_argument>([&] { single_location_bayes_error(0, 1.0); }, {"row_length", "0"}));
  CHECK(refuses<std::invalid_argument>([&] { single_location_bayes_error(0, 0.0); }, {"row_length", "0"}));
  CHECK(
      refuses<std::invalid_argument>([&] { single_location_error(softmax, 2'000'000'000'000, 1.0); }, {"row_length"}));
  CHECK(refuses<std::domain_error>([&] { single_location_error(softmax, 5, 31.0); }, {"separation", "31"}));
  CHECK(refuses<std::domain_error>([&] { single_location_error(softmax, 5, NAN); }, {"separation", "nan"}));
  CHECK(refuses<std::domain_error>([&] { single_location_bayes_error<double>(5, INFINITY); }, {"separation", "inf"}));
  CHECK(refuses<std::domain_error>([] { single_location_error(scoring::Softmax<double>{-1.0}, 5, 1.0); },
                                   {"temperature"}));
  CHECK(refuses<std::invalid_argument>([] { single_location_linear_error(0, 1.0); }, {"row_length"}));
  CHECK(refuses<std::domain_error>([] { single_location_affine_error<double>(4, NAN); }, {"separation"}));
}

}  // namespace incontext::testing
