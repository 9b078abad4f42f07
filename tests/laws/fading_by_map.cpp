#include "incontext/laws/fading_by_map.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "incontext/laws/fading_thresholds.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "laws/refusal.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// Compares the weights in closed form with those of the row written out.
void check_rows(const auto& map, double tolerance) {
  for (const std::ptrdiff_t n : {1, 2, 3, 10, 300}) {
    for (const double low : {-2.0, 0.0, 0.7}) {
      for (const double gap : {-3.0, -0.2, 0.0, 0.15, 0.6, 2.5, 8.0}) {
        std::vector<double> z(static_cast<std::size_t>(n), low);
        z[0] = low + gap;
        const auto row = weights_of(map, z);
        const auto closed = two_level_weights(map, n, z[0], low);
        INFO("n " << n << ", low " << low << ", gap " << gap << ": " << closed.high << " against " << row[0]);
        CHECK(std::abs(closed.high - row[0]) <= tolerance * std::abs(row[0]) + 1e-300);
        CHECK(std::abs(closed.high + closed.complement - 1) < 1e-12);
        if (n > 1) CHECK(std::abs(closed.low - row[1]) <= tolerance * std::abs(row[1]) + 1e-300);
      }
    }
  }
}

}  // namespace

TEST_CASE("two-level weights of every map are those of the row written out", "[laws]") {
  check_rows(scoring::Softmax<double>{0.7}, 1e-13);
  check_rows(scoring::SSMax<double>{0.43, 0.1}, 1e-13);
  check_rows(scoring::SSA<double>{1.0, 1.5}, 1e-13);
  check_rows(scoring::ApproximateSoftmax<double>{1.5}, 1e-12);
  check_rows(scoring::Hardmax<double>{}, 1e-15);
  check_rows(scoring::Sparsemax<double>{}, 1e-11);
  for (const double alpha : {1.2, 1.5, 3.0}) check_rows(scoring::Entmax<double>{alpha}, 1e-11);
  using enum scoring::ScoreScale;
  for (const double tau : {0.05, 1.0, 50.0}) {
    for (const auto score_stddev : {population_stddev, sample_stddev, population_variance}) {
      check_rows(scoring::NormSoftmax<double>{tau, score_stddev}, 1e-12);
    }
  }
}

TEST_CASE("two-level entmax solves its equations, for rows of any length", "[laws]") {
  for (const double alpha : {1.2, 1.5, 2.0, 4.0, 8.0}) {
    for (const std::ptrdiff_t n : {2, 300, 1'000'000'000}) {
      for (const double gap : {-0.03, 0.0, 0.01, 0.1}) {
        const auto a = two_level_weights(scoring::Entmax<double>{alpha}, n, gap, 0.0);
        INFO("alpha " << alpha << ", n " << n << ", gap " << gap << ": " << a.high << " " << a.low);
        CHECK(std::abs(a.high + a.complement - 1) < 1e-12);
        if (!(a.high > 0)) CHECK(std::pow(a.low, alpha - 1) <= -(alpha - 1) * gap);
        if (!(a.high > 0)) continue;
        const double levels = std::pow(a.high, alpha - 1) - std::pow(a.low, alpha - 1);
        CHECK(std::abs(levels - (alpha - 1) * gap) < 1e-12);
      }
    }
  }
}

TEST_CASE("two-level entmax keeps the digits of what is left next to the one-hot gap", "[laws]") {
  for (const double deficit : {0x1p-2, 0x1p-10, 0x1p-30, 0x1p-50}) {
    INFO("deficit " << deficit);
    const double c = 1 - deficit;  // (alpha - 1) gap
    for (const std::ptrdiff_t n : {2, 10, 1'000'000}) {
      const double count = static_cast<double>(n);
      // alpha = 2: (u + c) + (n - 1) u = 1
      CHECK(relative(two_level_weights(scoring::Sparsemax<double>{}, n, c, 0.0).low, deficit / count) < 1e-14);
      // alpha = 3/2: (u + c)^2 + (n - 1) u^2 = 1
      const double short_of = deficit * (2 - deficit), u = short_of / (c + std::sqrt(c * c + count * short_of));
      const auto a = two_level_weights(scoring::Entmax<double>{1.5}, n, 2 * c, 0.0);
      CHECK(relative(a.low, u * u) < 1e-14);
      CHECK(relative(a.complement, (count - 1) * u * u) < 1e-14);
    }
    // alpha = 3, n = 2: sqrt(u + c) + sqrt(u) = 1, so sqrt(u) = (1 - c) / 2
    CHECK(relative(two_level_weights(scoring::Entmax<double>{3}, 2, c / 2, 0.0).low, deficit / 2) < 1e-14);
  }
}

TEST_CASE("which maps fade: one score among a quadrillion", "[laws]") {
  constexpr std::ptrdiff_t n = 1'000'000'000'000'000;
  const double count = 1e15;
  const auto high = [&](const auto& map, double gap) { return two_level_weights(map, n, gap, 0.0).high; };
  CHECK(std::abs(high(scoring::Softmax<double>{}, 5) / (std::exp(5) / count) - 1) < 1e-12);
  CHECK(std::abs(high(scoring::SSA<double>{1, 1.5}, 3) / (8 / count) - 1) < 1e-12);  // (1 + 3)^1.5
  CHECK(std::abs(high(scoring::ApproximateSoftmax<double>{}, 5) / (6 / count) - 1) < 1e-12);
  CHECK(high(scoring::SSMax<double>{0.43, 0}, 5) > 1 - 1e-15);
  CHECK(high(scoring::SSMax<double>{0.43, 0}, 2) < 1e-2);
  CHECK(high(scoring::NormSoftmax<double>{1e9}, 5) == 1);
  CHECK(high(scoring::Hardmax<double>{}, 1e-9) == 1);
  CHECK(high(scoring::Sparsemax<double>{}, 1) == 1);
  CHECK(high(scoring::Entmax<double>{1.5}, entmax_one_hot_gap(1.5)) == 1);
  // below the one-hot gap entmax keeps a share that does not depend on n: sparsemax's is the gap
  CHECK(std::abs(high(scoring::Sparsemax<double>{}, 0.5) - 0.5) < 1e-12);
  // SSA depends on the offset, softmax does not
  CHECK_FALSE(std::abs(two_level_weights(scoring::SSA<double>{1, 1.5}, 40, 2.0, -2.0).high -
                       two_level_weights(scoring::SSA<double>{1, 1.5}, 40, 4.0, 0.0).high) < 0.1);
}

TEST_CASE("two-level weights of a map refuse what is no row", "[laws]") {
  const scoring::Softmax<double> softmax{};
  CHECK_THROWS_AS(two_level_weights(softmax, 0, 1.0, 0.0), std::invalid_argument);
  CHECK(refuses([] { two_level_weights(scoring::Softmax<double>{-1}, 5, 1.0, 0.0); }, {"temperature", "-1"}));
  CHECK(refuses([] { two_level_weights(scoring::SSA<double>{0, 1.5}, 5, 1.0, 0.0); }, {"base", "value = 0"}));
  CHECK(refuses([] { two_level_weights(scoring::Entmax<double>{1.0}, 5, 1.0, 0.0); }, {"alpha", "value = 1"}));
  CHECK(refuses([] { two_level_weights(scoring::Entmax<double>{0.5}, 5, 1.0, 0.0); }, {"alpha", "value = 0.5"}));
  CHECK(refuses([] { two_level_weights(scoring::ApproximateSoftmax<double>{0}, 5, 1.0, 0.0); }, {"temperature"}));
  CHECK(refuses([] { two_level_weights(scoring::NormSoftmax<double>{-2}, 5, 1.0, 0.0); }, {"temperature", "-2"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([&] { two_level_weights(softmax, 5, x, 0.0); }, {"high"}));
    CHECK(refuses([&] { two_level_weights(softmax, 5, 0.0, x); }, {"low"}));
    CHECK(refuses([x] { two_level_weights(scoring::Hardmax<double>{}, 5, x, 0.0); }, {"high"}));
    CHECK(refuses([x] { two_level_weights(scoring::SSMax<double>{x, 0}, 5, 1.0, 0.0); }, {"scale"}));
  }
}

}  // namespace incontext::testing
