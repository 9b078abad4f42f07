#include "incontext/calibration/shifted_temperature.hpp"

#include <cmath>
#include <limits>

#include "calibration/heads.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using incontext::testing::normal_head;
using incontext::testing::relative;

namespace {

incontext::testing::Head head_with_self_scores(double scale, std::uint64_t seed) {
  auto head = normal_head(48, 48, scale, seed);
  for (std::size_t q = 0; q < 48; ++q) head.scores[49 * q] = scale * (2 + 0.1 * head.scores[49 * q]);
  return head;
}

}  // namespace

TEST_CASE("the moment ratio read query by query is that of the matrix", "[calibration]") {
  namespace reg = incontext::regression;
  auto head = head_with_self_scores(1, 4);
  head.scores[5] = -std::numeric_limits<double>::infinity();
  head.scores[100] = -1e9;
  for (const bool causal : {false, true}) {
    reg::Matrix<double> matrix(48, 48);
    for (int q = 0; q < 48; ++q) {
      for (int k = 0; k < 48; ++k) {
        const double score = head.scores[static_cast<std::size_t>(48 * q + k)];
        const bool masked = score < -1e6 || (causal && k > q);
        matrix(q, k) = masked ? -std::numeric_limits<double>::infinity() : 0.5 * score;
      }
    }
    const auto whole = reg::moment_ratio_from_scores<double>(matrix, reg::SelfOnDiagonal{});
    const auto read = moment_ratio_of_head(head.array(), {.inverse_temperature = 0.5, .causal = causal});
    CHECK(read.queries == whole.queries);
    CHECK(relative(read.ratio, whole.ratio) < 1e-13);
    CHECK(relative(read.standard_error, whole.standard_error) < 1e-12);
  }
}

TEST_CASE("scores that are twice as large have twice the temperature", "[calibration]") {
  const auto once = head_with_self_scores(1, 4);
  auto twice = once;
  for (double& score : twice.scores) score *= 2;
  const auto found = shifted_temperature(moment_ratio_of_head(once.array()), moment_ratio_of_head(twice.array()));
  CHECK(relative(found.quotient, 2) < 1e-14);
  const double each = found.training.standard_error / found.training.ratio;
  CHECK(relative(found.quotient_error, 2 * std::sqrt(2.0) * each) < 1e-12);
}

TEST_CASE("heads without self-scores, and scores that are no numbers, are refused", "[calibration]") {
  CHECK_THROWS_AS(moment_ratio_of_head(normal_head(8, 9, 1, 1).array()), std::invalid_argument);
  auto head = head_with_self_scores(1, 4);
  head.scores[7] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(moment_ratio_of_head(head.array()), std::domain_error);
  // a mean self-score of 0 is lost in its noise
  CHECK_THROWS_AS(moment_ratio_of_head(normal_head(48, 48, 1, 9).array()), std::domain_error);
}
