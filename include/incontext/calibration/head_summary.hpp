#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "incontext/calibration/head_calibration.hpp"

/// Every head in one line, and counts over all heads.
namespace incontext::calibration {

/// One head in one line: its rows, their scores, and its weights, measured and predicted from the row length and the
/// scores' standard deviation alone.
///
/// Units     score_stddev of the scores, entropy in nats, effective keys a number of keys, the rest dimensionless.
struct HeadSummary {
  std::int64_t layer;
  std::int64_t head;
  std::int64_t shortest_row;
  std::int64_t longest_row;
  std::int64_t rows;
  double score_stddev;
  double skewness;
  double excess_kurtosis;
  double entropy;
  double entropy_predicted;
  double effective_keys;  ///< one over the mean sum of squared weights
  double effective_keys_predicted;
  double largest_weight;
  double largest_weight_predicted;
  double keys_for_95_predicted;  ///< the largest weights with mean sum 95% in the longest rows, by their number
  double freezing_ratio;
  Phase phase;
  double worst_deviation;  ///< see worst_deviation(); NaN where the scores do not vary
  double p_value;
  double resolution;  ///< the relative deviation of these weights that would have been noticed, see judge_heads
  statistics::Verdict normal_rows;
  std::int64_t prompts;
  bool looks_like_weights;  ///< see measure_heads
};

/// The largest relative deviation of predicted weights from measured ones, of entropy, IPR and largest weight.
///
/// \f[ \max_q \left| \frac{\bar q}{q_{\mathrm{theory}}} - 1 \right| \f]
///
/// Source    derived: docs/theory/calibration.md#verdict.
/// Domain    a head from calibrate_head.
/// Limits    scores that do not vary: 0 up to rounding.
/// Accuracy  2 eps: tests/calibration/head_summary.cpp.
inline double worst_deviation(const HeadCalibration& head) {
  double worst = 0;
  for (const auto* one : {&head.comparison.entropy, &head.comparison.ipr, &head.comparison.largest_weight}) {
    worst = (std::max)(worst, std::abs(one->estimate.mean / one->theory - 1));
  }
  return worst;
}

/// Puts the conclusions about a head into one line.
///
/// Source    derived: docs/theory/calibration.md#verdict.
/// Domain    a head from calibrate_heads.
/// Accuracy  copies, and one over the IPR: tests/calibration/head_summary.cpp.
inline HeadSummary summary_of(const HeadCalibration& head) {
  const auto mean = [&](RowStatistic which) { return head.rows.full.estimate(which).mean; };
  return {.layer = head.layer,
          .head = head.head,
          .shortest_row = head.rows.shortest,
          .longest_row = head.rows.longest,
          .rows = head.rows.rows,
          .score_stddev = head.score_stddev,
          .skewness = mean(RowStatistic::skewness),
          .excess_kurtosis = mean(RowStatistic::excess_kurtosis),
          .entropy = mean(RowStatistic::entropy),
          .entropy_predicted = head.comparison.entropy.theory,
          .effective_keys = 1 / mean(RowStatistic::ipr),
          .effective_keys_predicted = 1 / head.comparison.ipr.theory,
          .largest_weight = mean(RowStatistic::largest_weight),
          .largest_weight_predicted = head.comparison.largest_weight.theory,
          .keys_for_95_predicted = head.keys_for_95,
          .freezing_ratio = head.freezing_ratio,
          .phase = head.phase,
          .worst_deviation = head.score_stddev > 0 ? worst_deviation(head) : std::numeric_limits<double>::quiet_NaN(),
          .p_value = head.p_value,
          .resolution = head.resolution,
          .normal_rows = head.normal_rows,
          .prompts = head.prompts,
          .looks_like_weights = head.looks_like_weights};
}

/// Below this standard deviation x of its scores, a head's weights are taken as equal: the effective number of keys,
/// about n e^(-x^2), is then within a hundredth of the row length n.
///
/// Units     of the scores times the inverse temperature.
inline constexpr double nearly_equal_score_stddev = 0.1;

/// What must be known about the temperatures of a head that the law of normal scores predicts: that its weights are
/// equal or nearly so, or by how much this law misses the head's measured weights. Empty where it misses them by less
/// than a tenth, or by less than their own size and within the errors of the measurement.
///
/// A head of equal weights has nothing to hold in longer rows. The inverse temperatures that hold it still exist: they
/// are large, because they make chance differences of the scores count.
///
/// Source    derived: docs/theory/calibration.md#verdict.
/// Domain    a head from calibrate_heads.
/// Limits    scores that do not vary: there are no temperatures, and the reason is given.
inline std::string warning_about_law(const HeadCalibration& head) {
  if (!(head.score_stddev > 0)) {
    return "The scores of a row are all the same: the weights are 1/n at every temperature, and there is nothing to "
           "calibrate.";
  }
  if (head.score_stddev < nearly_equal_score_stddev) {
    return "The standard deviation of this head's scores is " + short_text(head.score_stddev, 3) +
           ", so that its weights are nearly equal: there is little to hold, and inverse temperatures that hold it are "
           "no advice.";
  }
  const double off = worst_deviation(head);
  if (!(off >= (head.normal_rows == statistics::Verdict::disagrees ? 0.1 : 1))) return {};
  const std::string misses =
      "The law of normal scores misses the weights of this head by " + short_text(100 * off, 3) + " %: ";
  return misses + (off < 1
                       ? "inverse temperatures by that law are rough."
                       : "it does not describe this head, and inverse temperatures by that law do not hold for it.");
}

/// The heads of one phase, counted by what was found about the theory of normal rows.
///
/// Units     score_stddev of the scores; medians NaN without a head.
struct PhaseCount {
  Phase phase;
  std::int64_t heads;
  std::int64_t normal;
  std::int64_t not_normal;
  std::int64_t not_judged;
  double median_score_stddev;
  double median_effective_keys;
};

/// Counts the heads of each phase. The median of an even number of heads is the higher of the two in the middle.
///
/// Source    elementary.
/// Shapes    m heads -> 3 phases: even, self-averaging, frozen
/// Domain    heads from calibrate_heads.
/// Limits    no head of a phase: medians NaN.
/// Accuracy  exact: tests/calibration/head_summary.cpp.
inline std::vector<PhaseCount> count_phases(const std::vector<HeadCalibration>& heads) {
  const auto median = [](std::vector<double>& values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  std::vector<PhaseCount> counts;
  for (const Phase phase : {Phase::even, Phase::self_averaging, Phase::frozen}) {
    PhaseCount count{.phase = phase,
                     .heads = 0,
                     .normal = 0,
                     .not_normal = 0,
                     .not_judged = 0,
                     .median_score_stddev = 0,
                     .median_effective_keys = 0};
    std::vector<double> stddevs, keys;
    for (const HeadCalibration& head : heads) {
      if (head.phase != phase) continue;
      stddevs.push_back(head.score_stddev);
      keys.push_back(1 / head.rows.full.estimate(RowStatistic::ipr).mean);
      ++count.heads;
      count.normal += head.normal_rows == statistics::Verdict::agrees;
      count.not_normal += head.normal_rows == statistics::Verdict::disagrees;
      count.not_judged += head.normal_rows == statistics::Verdict::not_judged;
    }
    count.median_score_stddev = median(stddevs);
    count.median_effective_keys = median(keys);
    counts.push_back(count);
  }
  return counts;
}

}  // namespace incontext::calibration
