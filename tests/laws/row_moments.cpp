#include "incontext/laws/row_moments.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/ssa_row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;
using scoring::Softmax;
using scoring::SSA;
using scoring::SSMax;

namespace {

using Three = std::array<double, 3>;

template <class T>
Three values(const RowMoments<T>& r) {
  return {static_cast<double>(r.ipr), static_cast<double>(r.mean_score), static_cast<double>(r.mean_square_score)};
}

Worst largest_off(const Three& a, const Three& b) {
  Worst worst;
  for (std::size_t i = 0; i < 3; ++i) worst.add(std::abs(a[i] - b[i]) / std::abs(b[i]), "functional ", i);
  return worst;
}

/// sum p^2, sum p z and its square, of one row with the weights of the map.
template <class Map>
Three of_row(const Map& map, const std::vector<double>& z) {
  std::vector<double> p(z.size());
  weights(map, z, p);
  Three sums{};
  for (std::size_t i = 0; i < z.size(); ++i) {
    sums[0] += p[i] * p[i];
    sums[1] += p[i] * z[i];
  }
  sums[2] = sums[1] * sums[1];
  return sums;
}

/// Rows of two and three scores, by the trapezoidal rule over all of them.
template <class Map>
Three by_definition(const Map& map, std::size_t count, double deviation, double step) {
  const int half = static_cast<int>(9 / step);
  Three total{};
  double mass = 0;
  std::vector<int> at(count, -half);
  std::vector<double> z(count);
  for (bool more = true; more;) {
    double exponent = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double g = at[j] * step;
      z[j] = deviation * g;
      exponent -= g * g / 2;
    }
    const double weight = std::exp(exponent);
    if (weight > 1e-19) {
      const Three row = of_row(map, z);
      for (std::size_t i = 0; i < 3; ++i) total[i] += weight * row[i];
    }
    mass += weight;
    std::size_t j = 0;
    while (j < count && ++at[j] > half) at[j++] = -half;
    more = j < count;
  }
  for (double& value : total) value /= mass;
  return total;
}

/// Softmax with a temperature written as a user's own map, about which the library cannot know that it is linear.
struct OwnMap {
  using value_type = double;
  double temperature = 1;
  scoring::detail::Quotient<double> elementwise(std::ptrdiff_t) const { return {temperature}; }
};

/// The same, with a phi that states that it is linear.
struct OwnLinearMap {
  struct Exponent : scoring::detail::Quotient<double> {
    static constexpr bool is_linear = true;
  };
  using value_type = double;
  double temperature = 1;
  Exponent elementwise(std::ptrdiff_t) const { return {{temperature}}; }
};

template <class Map>
std::array<SampleMean, 3> sampled(const Map& map, std::size_t count, double deviation, int rows, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::array<SampleMean, 3> means;
  std::vector<double> z(count);
  for (int i = 0; i < rows; ++i) {
    for (double& score : z) score = normal(engine);
    const Three row = of_row(map, z);
    for (std::size_t k = 0; k < 3; ++k) means[k].add(row[k]);
  }
  return means;
}

Worst largest_z(const std::array<SampleMean, 3>& means, const Three& theory) {
  constexpr const char* names[] = {"ipr", "mean score", "mean square score"};
  Worst worst;
  for (std::size_t k = 0; k < 3; ++k) worst.add(std::abs(means[k].z(theory[k])), names[k], ", theory ", theory[k]);
  return worst;
}

}  // namespace

TEST_CASE("rows of two and three scores agree with integrals over the scores themselves") {
  const double deviation = GENERATE(0.1, 1.0, 2.0);
  const Softmax<double> softmax{1.25};
  CHECK(largest_off(values(row_moments(softmax, 2, deviation * deviation)), by_definition(softmax, 2, deviation, 0.1)) <
        1e-12);
  CHECK(largest_off(values(row_moments(softmax, 3, deviation * deviation)),
                    by_definition(softmax, 3, deviation, 0.25)) < 1e-12);
  const SSMax<double> ssmax{0.7, 0.2};
  const Three theory = values(row_moments(ssmax, 3, deviation * deviation));
  CHECK(largest_off(theory, by_definition(ssmax, 3, deviation, 0.25)) < 1e-12);
  // the kink of SSA at 0 leaves the trapezoidal rule an error of order step^4
  const SSA<double> ssa{0.8, 2.5, 1.5};
  CHECK(largest_off(values(row_moments(ssa, 2, deviation * deviation)), by_definition(ssa, 2, deviation, 1.0 / 64)) <
        1e-8);
  // Power: two scores in the place of three.
  CHECK(largest_off(theory, by_definition(ssmax, 2, deviation, 0.1)) > 1e-3);
}

TEST_CASE("rows of any length agree with rows drawn, and others do not") {
  const std::size_t count = 12;
  const double deviation = 1.5;
  const auto check = [&](const auto& map, unsigned seed) {
    const auto means = sampled(map, count, deviation, 200000, seed);
    const Three theory = values(row_moments(map, std::int64_t{count}, deviation * deviation));
    CHECK(largest_z(means, theory) <= 5);
    // Power: one score fewer; two percent in each of the moments.
    CHECK(largest_z(means, values(row_moments(map, std::int64_t{count} - 1, deviation * deviation))) > 5);
    for (std::size_t k = 0; k < 3; ++k) {
      Three perturbed = theory;
      perturbed[k] *= 1.02;
      CHECK(largest_z(means, perturbed) > 5);
    }
  };
  check(Softmax<double>{2.0}, 1);
  check(SSMax<double>{0.5, 0.1}, 2);
  check(SSMax<double>{-0.5}, 3);
  check(SSA<double>{1.0, 2.0, 0.5}, 4);
}

TEST_CASE("softmax and SSMax rows are Gaussian rows") {
  const double count = GENERATE(2.0, 7.0, 1e3, 1e6);
  const double score_stddev = GENERATE(1e-5, 0.3, 3.0, 20.0, 200.0, 1e4);
  const auto row = gaussian_row(count, score_stddev);
  const double variance = 9.0, temperature = 3.0 / score_stddev;
  const auto l = static_cast<std::int64_t>(count);
  const Three theory{row.ipr, 3 * row.mean_score, 9 * row.squared_mean_score};
  const auto softmax = row_moments(Softmax<double>{temperature}, l, variance);
  CAPTURE(count, score_stddev);
  CHECK(largest_off(values(softmax), theory) < 2e-11);
  CHECK(softmax.error_estimate < 1e-10);
  CHECK(std::abs(softmax.mean_score * temperature / variance - (1 - softmax.ipr)) < 1e-13);
  const SSMax<double> ssmax{1 / (temperature * std::log(count))};
  CHECK(largest_off(values(row_moments(ssmax, l, variance)), theory) < 2e-11);
}

TEST_CASE("SSA rows fade as their own law says") {
  const std::int64_t count = GENERATE(2, 30, 1000000);
  const SSA<double> map = GENERATE(SSA<double>{1.0, 1.5}, SSA<double>{4.0, 3.0}, SSA<double>{1e-3, 2.0, 0.1});
  const double variance = 2.5;
  const auto row = row_moments(map, count, variance);
  CHECK(std::abs(row.ipr / ssa_row(map, static_cast<double>(count), variance).ipr - 1) < 2e-11);
}

TEST_CASE("a map that only its panels know agrees with the one whose nodes serve the whole line") {
  const std::int64_t count = GENERATE(2, 100, 1000000);
  const double variance = GENERATE(0.01, 1.0, 25.0, 400.0);
  CHECK(largest_off(values(row_moments(OwnMap{2.0}, count, variance)),
                    values(row_moments(Softmax<double>{2.0}, count, variance))) < 1e-11);
}

TEST_CASE("a map of one's own that says it is linear is taken for linear: the bits are those of softmax", "[laws]") {
  for (const std::int64_t count : {2, 40}) {
    for (const double variance : {0.1, 25.0}) {
      INFO("count " << count << ", variance " << variance);
      const auto softmax = values(row_moments(Softmax<double>{2.0}, count, variance));
      CHECK(values(row_moments(OwnLinearMap{2.0}, count, variance)) == softmax);
      CHECK(values(row_moments(OwnMap{2.0}, count, variance)) != softmax);  // by panels, to rounding
    }
  }
  STATIC_REQUIRE(scoring::is_linear<decltype(scoring::SSMax<double>{}.elementwise(3))>);
  STATIC_REQUIRE_FALSE(scoring::is_linear<decltype(scoring::SSA<double>{}.elementwise(3))>);
}

TEST_CASE("SSA of base 1 / k and a large exponent k is softmax") {
  const Three softmax = values(row_moments(Softmax<double>{}, 40, 1.0));
  double before = 2;
  for (const double k : {10.0, 100.0, 1000.0}) {
    const double off = largest_off(values(row_moments(SSA<double>{1 / k, k}, 40, 1.0)), softmax);
    CHECK(off < 0.15 * before);
    before = off;
  }
}

TEST_CASE("row moments have their limits") {
  CHECK(values(row_moments(Softmax<double>{}, 1, 4.0)) == Three{1, 0, 4});
  CHECK(values(row_moments(SSA<double>{}, 1, 4.0)) == Three{1, 0, 4});
  const auto uniform = row_moments(Softmax<double>{std::numeric_limits<double>::infinity()}, 8, 4.0);
  CHECK(std::abs(uniform.ipr - 0.125) < 1e-15);
  CHECK(uniform.mean_score == 0);
  CHECK(std::abs(uniform.mean_square_score - 0.5) < 1e-15);
  const auto still = row_moments(SSA<double>{}, 8, 0.0);
  CHECK(std::abs(still.ipr - 0.125) < 1e-14);
  CHECK(still.mean_score == 0);
  CHECK(still.mean_square_score == 0);
  // the largest of two scores: mean 1 / sqrt(pi), mean square 1, in units of the deviation
  const auto frozen = row_moments(Softmax<double>{1e-6}, 2, 1.0);
  CHECK(std::abs(frozen.ipr - 1) < 1e-5);
  CHECK(std::abs(frozen.mean_score * std::sqrt(3.14159265358979323846) - 1) < 1e-11);
  CHECK(std::abs(frozen.mean_square_score - 1) < 1e-11);
  // many scores of small x: e^(x^2) / l
  const auto annealed = row_moments(Softmax<double>{2.0}, 1000000000000, 1.0);
  CHECK(std::abs(annealed.ipr * 1e12 / std::exp(0.25) - 1) < 1e-10);
  const auto mirrored = row_moments(SSMax<double>{-0.4}, 30, 2.0), plain = row_moments(SSMax<double>{0.4}, 30, 2.0);
  CHECK(mirrored.ipr == plain.ipr);
  CHECK(mirrored.mean_score == -plain.mean_score);
}

TEMPLATE_TEST_CASE("row moments agree in float and long double", "", float, long double) {
  using T = TestType;
  const double tolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;
  for (const double variance : {0.25, 4.0, 100.0}) {
    CHECK(largest_off(values(row_moments(Softmax<T>{T(1.5)}, 50, T(variance))),
                      values(row_moments(Softmax<double>{1.5}, 50, variance))) < tolerance);
    CHECK(largest_off(values(row_moments(SSA<T>{T(0.5), T(2)}, 50, T(variance))),
                      values(row_moments(SSA<double>{0.5, 2}, 50, variance))) < tolerance);
  }
}

TEST_CASE("row moments refuse what they cannot mean") {
  CHECK_THROWS_AS(row_moments(Softmax<double>{}, 0, 1.0), std::invalid_argument);
  for (const double value : {-1.0, out_of_reach[0], out_of_reach[1]}) {
    CHECK(refuses([&] { row_moments(Softmax<double>{}, 4, value); }, {"score_variance"}));
  }
  CHECK(refuses([] { row_moments(Softmax<double>{0.0}, 4, 1.0); }, {"temperature is not positive", "value = 0;"}));
  CHECK(refuses([] { row_moments(SSA<double>{1.0, 0.5}, 4, 1.0); }, {"exponent is below 1", "value = 0.5"}));
  CHECK(refuses([] { row_moments(SSMax<double>{out_of_reach[0]}, 4, 1.0); }, {"scale is not finite"}));
  // for a map that is too steep for the panels, the exception states the error that was reached
  try {
    row_moments(SSA<double>{1.0, 1e6}, 4, 1.0);
    CHECK(false);
  } catch (const numerics::QuadratureError& error) {
    CHECK(error.achieved == 1.0);
  }
}

}  // namespace incontext::testing
