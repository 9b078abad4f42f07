#include "incontext/calibration/head_summary.hpp"

#include <cmath>

#include "calibration/heads.hpp"
#include "support/catch.hpp"

using namespace incontext::calibration;
using incontext::testing::normal_head;
using incontext::testing::student_head;

TEST_CASE("a head's line and the counts of phases repeat what was found", "[calibration]") {
  const auto even = incontext::testing::head_of(64, 32, [](std::int64_t, std::int64_t) { return 0.5; });
  const auto heads = calibrate_heads({normal_head(128, 64, 1, 1).measured(), normal_head(128, 64, 9, 2).measured(),
                                      student_head(256, 256, 3, 3).measured(), even.measured()});
  const HeadSummary normal = summary_of(heads[0]), heavy = summary_of(heads[2]), flat = summary_of(heads[3]);
  CHECK(normal.entropy == heads[0].rows.full.estimate(RowStatistic::entropy).mean);
  CHECK(normal.effective_keys == 1 / heads[0].rows.full.estimate(RowStatistic::ipr).mean);
  CHECK(normal.keys_for_95_predicted ==
        incontext::laws::top_scores_needed(normal.longest_row, 0.05, normal.score_stddev));
  CHECK(flat.keys_for_95_predicted == std::ceil(0.95 * static_cast<double>(flat.longest_row)));
  CHECK(normal.worst_deviation < 0.05);
  CHECK(heavy.worst_deviation > 2 * normal.worst_deviation);
  CHECK(heavy.worst_deviation >= std::abs(heavy.entropy / heavy.entropy_predicted - 1));
  CHECK(heavy.worst_deviation >= std::abs(heavy.largest_weight / heavy.largest_weight_predicted - 1));
  CHECK(std::isnan(flat.worst_deviation));
  CHECK(warning_about_law(heads[0]).empty());
  CHECK(warning_about_law(heads[3]).find("all the same") != std::string::npos);
  const auto nearly_even = calibrate_heads({normal_head(128, 64, 1e-3, 5).measured()});
  CHECK(warning_about_law(nearly_even[0]).find("is 0.001") != std::string::npos);
  CHECK(warning_about_law(nearly_even[0]).find("no advice") != std::string::npos);
  HeadCalibration changed = heads[2];
  const auto off_by = [&](double deviation) {
    for (auto* one : {&changed.comparison.entropy, &changed.comparison.ipr}) one->theory = one->estimate.mean;
    auto& largest = changed.comparison.largest_weight;
    largest.theory = largest.estimate.mean / (1 + deviation);
    return warning_about_law(changed);
  };
  REQUIRE(changed.normal_rows == incontext::statistics::Verdict::disagrees);
  CHECK(off_by(0.09).empty());
  CHECK(off_by(0.5).find("by 50 %: inverse temperatures by that law are rough") != std::string::npos);
  CHECK(off_by(6.83).find("by 683 %: it does not describe this head") != std::string::npos);
  changed.normal_rows = incontext::statistics::Verdict::agrees;
  CHECK(off_by(0.5).empty());
  CHECK(!off_by(6.83).empty());
  CHECK(worst_deviation(heads[3]) < 1e-12);
  const auto counts = count_phases(heads);
  REQUIRE(counts.size() == 3);
  CHECK(counts[0].phase == Phase::even);
  CHECK(counts[0].heads == 1);
  CHECK(counts[0].not_judged == 1);
  CHECK(counts[1].heads == 2);
  CHECK(counts[1].normal == 1);
  CHECK(counts[1].not_normal == 1);
  CHECK(counts[1].median_score_stddev == std::max(normal.score_stddev, heavy.score_stddev));
  CHECK(counts[2].heads == 1);
  CHECK(std::isnan(count_phases({})[0].median_score_stddev));
}
