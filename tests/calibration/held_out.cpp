#include "incontext/calibration/held_out.hpp"

#include <cmath>

#include "calibration/heads.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::calibration;
using incontext::testing::normal_head;
using incontext::testing::refuses;
using incontext::testing::student_head;

TEST_CASE("quarter rows predict the whole rows of other queries if the scores are normal", "[calibration]") {
  double squares = 0;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto check = check_held_out(normal_head(128, 100, 1.3, 7 * seed).measured().buckets.back());
    for (const auto* one : {&check.variance, &check.entropy, &check.ipr, &check.largest_weight}) {
      squares += one->z * one->z;
      ++count;
    }
  }
  CAPTURE(squares / count);
  CHECK(squares / count > 0.4);
  CHECK(squares / count < 2);
}

TEST_CASE("rows whose scores drift with the position, or have heavy tails, are told", "[calibration]") {
  auto drifting = normal_head(256, 128, 1, 3);
  for (std::size_t i = 0; i < drifting.scores.size(); ++i) drifting.scores[i] *= i % 128 < 32 ? 0.8 : 1.2;
  const auto drift = check_held_out(drifting.measured().buckets.back());
  CHECK(drift.variance.excess > 6);
  CHECK(drift.entropy.excess > 6);
  const auto by_quarter = incontext::laws::gaussian_row(128.0, std::sqrt(drift.variance.theory));
  CHECK(std::abs(drift.entropy.theory - by_quarter.entropy) < 1e-6);
  CHECK(check_held_out(student_head(256, 256, 4, 9).measured().buckets.back()).entropy.excess > 5);
  const auto few = normal_head(3, 64, 1, 1).measured();
  CHECK(refuses<std::invalid_argument>([&] { check_held_out(few.buckets.back()); }, {"batches", "value = 3"}));
}
