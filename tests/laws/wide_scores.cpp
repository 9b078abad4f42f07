#include "incontext/laws/detail/wide_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/row_moments.hpp"
#include "incontext/scoring/softmax.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;
using laws::detail::WideScores;

namespace {

/// The averages at s = -x height by their definitions: the trapezoidal rule in the score itself, with 40 nodes per unit
/// of the exponent.
laws::detail::ScoreBlocks<double> blocks_by_definition(double score_stddev, double height) {
  laws::detail::ScoreBlocks<double> sums{};
  double complement = 0, kept = 0;
  const double step = 1 / (40 * score_stddev);
  const int last = static_cast<int>(22 / step);
  for (int i = -last; i <= last; ++i) {
    const double g = height + i * step, t = std::exp(std::min(i / 40.0, 700.0));
    const double weight = step * std::exp(-g * g / 2) / 2.5066282746310002;
    const double first = weight * t * std::exp(-t);
    complement -= weight * std::expm1(-t);
    kept += weight * std::exp(-t);
    sums.first += first;
    sums.first_score += g * first;
    sums.second += first * t;
    sums.second_square += g * g * first * t;
    sums.third += first * t * t;
    sums.fourth += first * t * t * t;
  }
  sums.first_slope = score_stddev * sums.first;
  sums.log_psi = complement < 0.5 ? std::log1p(-complement) : std::log(kept);
  return sums;
}

}  // namespace

TEST_CASE("wide scores: averages agree with their definitions", "[laws]") {
  for (const double count : {2.0, 1e6, 9e18}) {
    const double narrowest = WideScores<double>::narrowest(count);
    // `narrowest` stays away from the reach; toward it the rule needs more and more nodes, but its error does not grow
    for (const double score_stddev : {narrowest / 1.4, narrowest, 40.0, 300.0}) {
      const WideScores<double> scores(score_stddev, count);
      for (const double height : {-6.0, -1.0, 0.0, 2.5, 8.0}) {
        const auto found = scores(-score_stddev * height), exact = blocks_by_definition(score_stddev, height);
        INFO("n " << count << ", score_stddev " << score_stddev << ", height " << height);
        CHECK(relative(found.log_psi, exact.log_psi) < 1e-12);
        CHECK(relative(found.first, exact.first) < 1e-12);
        CHECK(relative(found.first_slope, exact.first_slope) < 1e-12);
        CHECK(std::abs(found.first_score - exact.first_score) < 1e-12 * (1 + std::abs(height)) * exact.first);
        CHECK(relative(found.second, exact.second) < 1e-12);
        CHECK(std::abs(found.second_square - exact.second_square) < 1e-12 * (1 + height * height) * exact.second);
        CHECK(relative(found.third, exact.third) < 1e-12);
        CHECK(relative(found.fourth, exact.fourth) < 1e-12);
        CHECK_FALSE(relative(scores(-score_stddev * (height - 1e-6)).first, exact.first) < 1e-12);
      }
    }
  }
}

TEST_CASE("cold rows agree with the moments of a row of normal scores", "[laws]") {
  for (const std::int64_t count : {std::int64_t{2}, std::int64_t{30}, std::int64_t{1000000}}) {
    const double n = static_cast<double>(count), edge = WideScores<double>::narrowest(n);
    for (const double score_stddev : {edge * (1 - 1e-12), edge, 50.0, 1e3, 1e7}) {
      const auto row = row_moments(scoring::Softmax<double>{1 / score_stddev}, count, 1.0);
      const auto exact = gaussian_row(n, score_stddev);
      INFO("n " << n << ", score_stddev " << score_stddev);
      CHECK(relative(row.ipr, exact.ipr) < 1e-12);
      CHECK(relative(row.mean_score, exact.mean_score) < 1e-12);
      CHECK(relative(row.mean_square_score, exact.squared_mean_score) < 1e-11);
      CHECK_FALSE(relative(row.mean_score, gaussian_row(n + 1, score_stddev).mean_score) < 1e-11);
    }
  }
}

}  // namespace incontext::testing
