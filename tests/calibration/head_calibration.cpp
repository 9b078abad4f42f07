#include "incontext/calibration/head_calibration.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using namespace incontext::testing;
using incontext::statistics::Verdict;

TEST_CASE("heads of known construction get their verdict", "[calibration]") {
  const std::int64_t n = 192;
  std::vector<HeadMeasurement> heads;
  for (const double stddev : {0.3, 1.0, 3.0, 6.0}) heads.push_back(normal_head(n, n, stddev, 21).measured());
  heads.push_back(student_head(n, n, 4, 22).measured());
  heads.push_back(local_head(n, n, 23).measured());
  heads.push_back(needle_head(n, n, 8, true, 24).measured());
  heads.push_back(needle_head(n, n, 8, false, 25).measured());
  heads.push_back(head_of(n, n, [](auto, auto) { return 0.7; }).measured());
  const auto found = calibrate_heads(heads);
  REQUIRE(found.size() == heads.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i, found[i].p_value, found[i].score_stddev);
    CHECK(found[i].normal_rows == (i < 4 ? Verdict::agrees : i < 8 ? Verdict::disagrees : Verdict::not_judged));
    CHECK(found[i].phase == (i == 8 ? Phase::even : i == 3 ? Phase::frozen : Phase::self_averaging));
  }
  CHECK(relative(found[1].score_stddev, 1) < 0.02);
  CHECK(relative(found[8].comparison.entropy.theory, std::log(n)) < 1e-5);
  CHECK(relative(found[8].comparison.entropy.estimate.mean, std::log(n)) < 1e-5);
  CHECK_FALSE(found[8].held_out);
  // a sink or a retrieved key has much more weight than the highest of normal scores of that deviation
  CHECK(found[6].comparison.largest_weight.z > 10);
  CHECK(found[7].comparison.largest_weight.z > 10);
}

TEST_CASE("a head whose scores deviate by less than least_score_stddev is even and not judged", "[calibration]") {
  for (const double stddev : {1e-12, 1e-9, 9e-8, 2e-7, 1e-5}) {
    CAPTURE(stddev);
    const bool varies = stddev > least_score_stddev;
    const HeadCalibration found = calibrate_head(normal_head(64, 64, stddev, 3).measured());
    CHECK((found.score_stddev > 0) == varies);
    CHECK((found.phase == Phase::even) == !varies);
    CHECK((found.freezing_ratio > 0) == varies);
    CHECK(std::isnan(found.p_value) == !varies);
    CHECK(relative(found.comparison.score_stddev, stddev) < 0.1);
  }
}

TEST_CASE("a head that the laws refuse is named with its layer", "[calibration][errors]") {
  std::vector<HeadMeasurement> heads{normal_head(64, 64, 1, 1).measured(),
                                     normal_head(64, 64, 1, 2).measured({.inverse_temperature = 1e100})};
  heads[1].layer = 3;
  heads[1].head = 5;
  CHECK(refuses<std::domain_error>([&] { calibrate_heads(heads); },
                                   {"calibration::calibrate_heads: layer 3, head 5", "score_stddev is too large"}));
}

TEST_CASE("a head is judged by its longest rows of which there are enough", "[calibration]") {
  CHECK(main_bucket(normal_head(200, 200, 1, 1).measured({.causal = true})).shortest == 129);
  CHECK(main_bucket(normal_head(140, 140, 1, 1).measured({.causal = true})).shortest == 65);
  CHECK(main_bucket(normal_head(20, 20, 1, 1).measured({.causal = true})).shortest == 9);
}
