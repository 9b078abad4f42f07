#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "incontext/calibration/detail/parallel_tasks.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/held_out.hpp"
#include "incontext/calibration/normal_row.hpp"
#include "incontext/calibration/normality.hpp"
#include "incontext/calibration/phase.hpp"
#include "incontext/laws/top_scores.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/statistics/effect.hpp"
#include "incontext/statistics/holm.hpp"

namespace incontext::calibration {

/// How a head distributes its weights over a row: evenly, over many keys, or on a few keys (freezing_ratio above 1).
enum class Phase { even, self_averaging, frozen };

/// What is concluded about one head from the rows of one octave of lengths.
///
/// Units     score_stddev of the scores; p_value a probability, NaN where nothing could be tested.
struct HeadCalibration {
  std::int64_t layer, head;
  LengthBucket rows;  ///< the rows that are judged, see main_bucket
  double score_stddev;
  Phase phase;
  double freezing_ratio;
  double keys_for_95;  ///< by the law of normal scores, see laws::top_scores_needed; NaN beyond the law's widest scores
  NormalityTest normality;
  NormalRowComparison comparison;
  std::optional<HeldOutCheck> held_out;  ///< absent for rows of at most 8 keys, and for fewer than four batches
  double p_value;                        ///< of the theory of normal rows: the least of five, times five
  bool looks_like_weights = false;       ///< see measure_heads
  std::int64_t prompts = 1;
  std::int64_t longest = 0;                                           ///< of all rows
  statistics::Verdict normal_rows = statistics::Verdict::not_judged;  ///< set by judge_heads
  double resolution = std::numeric_limits<double>::quiet_NaN();       ///< of the weights, set by judge_heads
};

/// The bucket that a head is judged by: of the buckets with at least 64 rows, from half of the prompts or more, the one
/// with the longest rows; if there is none, the bucket with the most rows.
///
/// Domain    a head with at least one bucket.
inline const LengthBucket& main_bucket(const HeadMeasurement& head) {
  constexpr std::int64_t enough_rows = 64;
  const auto is_enough = [&](const LengthBucket& bucket) {
    return bucket.rows >= enough_rows && 2 * bucket.prompts >= head.prompts;
  };
  const LengthBucket* best = &head.buckets.front();
  for (const LengthBucket& bucket : head.buckets) {
    if (is_enough(bucket) || (!is_enough(*best) && bucket.rows > best->rows)) best = &bucket;
  }
  return *best;
}

/// Scores whose standard deviation x is less than this count as equal: the entropy log n - x^2/2 and the IPR
/// (1 + x^2)/n differ from those of equal weights by rounding alone, so that no inverse temperature follows from them.
///
/// Units     of the scores times the inverse temperature.
inline constexpr double least_score_stddev = 1e-7;

/// Measures one head against the law of normal rows.
///
/// The p-value combines five tests by Bonferroni's bound: of skewness, kurtosis, entropy, IPR and largest weight.
///
/// Source    derived: docs/theory/calibration.md#verdict.
/// Domain    a head from measure_heads.
/// Limits    scores that do not vary, or by less than least_score_stddev: score_stddev = 0, phase even, not judged.
/// Errors    numerics::QuadratureError.
/// Accuracy  constructed heads of each kind get their verdict: tests/calibration/head_calibration.cpp.
inline HeadCalibration calibrate_head(const HeadMeasurement& head) {
  const LengthBucket& rows = main_bucket(head);
  const NormalRowComparison comparison = compare_with_normal_rows(rows);
  HeadCalibration result{.layer = head.layer,
                         .head = head.head,
                         .rows = rows,
                         .score_stddev = comparison.score_stddev < least_score_stddev ? 0 : comparison.score_stddev,
                         .phase = Phase::even,
                         .freezing_ratio = 0,
                         .keys_for_95 = std::numeric_limits<double>::quiet_NaN(),
                         .normality = test_normality(rows.full),
                         .comparison = comparison,
                         .held_out = {},
                         .p_value = std::numeric_limits<double>::quiet_NaN(),
                         .looks_like_weights = head.looks_like_weights,
                         .prompts = head.prompts,
                         .longest = head.buckets.back().longest};
  if (result.score_stddev <= laws::widest_top_scores) {
    result.keys_for_95 = laws::top_scores_needed(rows.longest, 0.05, result.score_stddev);
  }
  if (!(result.score_stddev > 0)) return result;
  result.freezing_ratio = freezing_ratio<double>(rows.longest, result.score_stddev);
  result.phase = result.freezing_ratio < 1 ? Phase::self_averaging : Phase::frozen;
  if (rows.quarter.batches().size() >= 4) result.held_out = check_held_out(rows);
  const statistics::Agreement* const tests[] = {&result.normality.skewness, &result.normality.excess_kurtosis,
                                                &result.comparison.entropy, &result.comparison.ipr,
                                                &result.comparison.largest_weight};
  double least = std::numeric_limits<double>::infinity();
  for (const statistics::Agreement* test : tests) {
    if (test->excess >= 0) least = (std::min)(least, statistics::p_value(*test));
  }
  if (least <= 1) result.p_value = (std::min)(1.0, 5 * least);
  return result;
}

/// Sets `normal_rows` of every head, by Holm's test over all heads: if the theory of normal rows describes some heads,
/// the probability that it is rejected for any of these is at most `level`. Sets `resolution`, too: the smallest
/// relative deviation that would have been noticed nine times in ten, in the one of entropy, IPR and largest weight
/// that is known least. A head whose rows are too few to resolve all three is not judged.
///
/// Source    statistics::holm_rejections and statistics::effect_of.
/// Domain    0 < level < 1.
/// Errors    std::domain_error for level outside the domain.
/// Accuracy  as holm_rejections: tests/calibration/head_calibration.cpp.
inline void judge_heads(std::vector<HeadCalibration>& heads, double level = 1e-3) {
  std::vector<double> p_values;
  for (const HeadCalibration& head : heads) {
    if (head.p_value >= 0) p_values.push_back(head.p_value);
  }
  const std::vector<bool> rejected = statistics::holm_rejections(p_values, level);
  std::size_t tested = 0;
  constexpr double tests_per_head = 5;
  for (HeadCalibration& head : heads) {
    if (!(head.p_value >= 0)) continue;
    bool resolved = true;
    head.resolution = 0;
    for (const auto* one : {&head.comparison.entropy, &head.comparison.ipr, &head.comparison.largest_weight}) {
      const auto effect = statistics::effect_of(*one, level / tests_per_head / static_cast<double>(p_values.size()));
      resolved = resolved && statistics::is_resolved(effect);
      head.resolution = effect.resolution >= 0 ? (std::max)(head.resolution, effect.resolution) : effect.resolution;
    }
    head.normal_rows = rejected[tested++] ? statistics::Verdict::disagrees
                       : resolved         ? statistics::Verdict::agrees
                                          : statistics::Verdict::not_judged;
  }
}

/// Every head of a model: calibrate_head, on several threads, and then judge_heads.
///
/// `level` is the family-wise probability of a false alarm, over the predictions of all heads together.
///
/// Source    as calibrate_head.
/// Shapes    measurements: m heads -> m conclusions in the same order
/// Domain    heads from measure_heads; threads = 0: as many as the machine has. poll is called by every thread before
///           each head, and what it throws ends the calibration.
/// Errors    as calibrate_head and judge_heads; both errors name the layer and the head.
/// Accuracy  as calibrate_head.
inline std::vector<HeadCalibration> calibrate_heads(const std::vector<HeadMeasurement>& measurements, int threads = 0,
                                                    double level = 1e-3, const std::function<void()>& poll = {}) {
  std::vector<std::optional<HeadCalibration>> found(measurements.size());
  const auto calibrate = [&](std::int64_t i) {
    if (poll) poll();
    const auto at = static_cast<std::size_t>(i);
    const HeadMeasurement& one = measurements[at];
    const std::string which =
        "calibration::calibrate_heads: layer " + std::to_string(one.layer) + ", head " + std::to_string(one.head);
    try {
      found[at] = calibrate_head(one);
    } catch (const numerics::QuadratureError& error) {
      throw numerics::QuadratureError(which, error.achieved, numerics::quadrature_tolerance<double>());
    } catch (const std::domain_error& error) {
      throw std::domain_error("incontext::" + which + ": " + error.what());
    }
  };
  detail::run_tasks(static_cast<std::int64_t>(found.size()), threads, calibrate, {});
  std::vector<HeadCalibration> heads;
  heads.reserve(found.size());
  for (auto& head : found) {
    if (head) heads.push_back(std::move(*head));
  }
  judge_heads(heads, level);
  return heads;
}

}  // namespace incontext::calibration
