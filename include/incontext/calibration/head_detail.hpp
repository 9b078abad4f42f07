#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "incontext/calibration/advice.hpp"
#include "incontext/calibration/head_calibration.hpp"
#include "incontext/calibration/head_limits.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/judged_quantity.hpp"
#include "incontext/calibration/length_summary.hpp"
#include "incontext/calibration/longer_rows.hpp"
#include "incontext/calibration/temperature_rules.hpp"

/// One head in detail: its rows by length, beside the law of normal rows, and the temperatures for longer rows.
namespace incontext::calibration {

/// A plan tried on the head's own rows. By the law of normal rows and the standard deviation of quarter rows, its
/// inverse temperature gives whole rows the value that quarter rows have at 1; whole rows are then measured at it.
///
/// Units     inverse_temperature in one over those of the scores, means of the held quantity.
struct TriedPlan {
  Held held;
  double inverse_temperature;
  JudgedQuantity result;
  double quarter_rows;  ///< mean measured at inverse temperature 1, on quarter rows that did not make the plan
  double whole_rows;    ///< the same for whole rows
};

/// The needle and the row lengths for which a head is described.
///
/// Units     gap of the scores times the inverse temperature.
struct DetailOptions {
  std::optional<double> gap = {};   ///< of the needle; default: four standard deviations of the scores
  std::int64_t trained_length = 0;  ///< 0: the longest row
  std::vector<std::int64_t> factors = {1, 2, 4, 8, 128};  ///< planned lengths over the trained length; the first is 1
};

/// One head in detail. Of a head whose scores do not vary, only `lengths` is filled.
struct HeadDetail {
  HeadCalibration head;
  HeadMeasurement measured;  ///< with the needle
  double gap;
  std::int64_t trained_length;
  std::vector<LengthSummary> lengths = {};
  std::vector<JudgedQuantity> normal_law = {};  ///< beside the law of normal rows
  std::vector<JudgedQuantity> held_out = {};    ///< predicted from quarters of other rows; empty where these are few
  std::optional<HeadLimits> limits = {};
  std::array<std::vector<TemperatureRule>, 3> rules = {};  ///< indexed by Held
  std::vector<TriedPlan> plans = {};
  std::vector<LongerRowRule> longer_rows = {};  ///< which rule predicts longer rows; empty where rows are few
  Advice advice = {};
};

/// Whether every quantity agrees.
inline bool all_agree(const std::vector<JudgedQuantity>& judged) {
  return std::all_of(judged.begin(), judged.end(),
                     [](const auto& one) { return one.verdict == statistics::Verdict::agrees; });
}

namespace detail {

/// What there may be too few of.
inline std::string counted(const HeadCalibration& head) { return head.prompts > 1 ? "prompts" : "rows"; }

/// The planned lengths: the trained one times the factors, which have to ascend from 1.
inline std::vector<std::int64_t> planned_lengths(const DetailOptions& wanted, std::int64_t longest) {
  constexpr auto where = "calibration::detail_of";
  if (wanted.gap) require_positive(where, "gap", *wanted.gap);
  if (wanted.trained_length != 0) require_at_least(where, "trained_length", wanted.trained_length, std::int64_t{2});
  const auto& factors = wanted.factors;
  const bool ascend = std::adjacent_find(factors.begin(), factors.end(), std::greater_equal<>()) == factors.end();
  if (factors.size() < 2 || factors.front() != 1 || !ascend) {
    std::string given;
    for (const std::int64_t factor : factors) given += (given.empty() ? "" : ", ") + std::to_string(factor);
    throw_invalid_argument(where, "factors do not ascend from 1", given.empty() ? "none" : given,
                           "two or more, such as 1, 2, 4, 8, 128");
  }
  std::vector<std::int64_t> lengths;
  lengths.reserve(factors.size());
  for (const std::int64_t factor : factors) {
    lengths.push_back(factor * (wanted.trained_length > 0 ? wanted.trained_length : longest));
  }
  return lengths;
}

inline void add_needle(std::vector<std::pair<std::string, statistics::Agreement>>& rows,
                       const std::optional<statistics::Agreement>& needle) {
  if (needle) rows.emplace_back("needle's weight", *needle);
}

inline std::vector<JudgedQuantity> beside_normal_law(const HeadCalibration& head, const LengthBucket& with_needle,
                                                     double gap) {
  std::vector<std::pair<std::string, statistics::Agreement>> rows{{"skewness", head.normality.skewness},
                                                                  {"excess kurtosis", head.normality.excess_kurtosis},
                                                                  {"entropy", head.comparison.entropy},
                                                                  {"sum of squared weights", head.comparison.ipr},
                                                                  {"largest weight", head.comparison.largest_weight}};
  add_needle(rows, compare_with_normal_rows(with_needle, gap).needle_weight);
  return judged_together(rows, counted(head));
}

inline std::vector<JudgedQuantity> held_out_rows(const HeadCalibration& head, const LengthBucket& with_needle,
                                                 double gap) {
  const HeldOutCheck check = check_held_out(with_needle, gap);
  std::vector<std::pair<std::string, statistics::Agreement>> rows{{"variance of the scores", check.variance},
                                                                  {"entropy", check.entropy},
                                                                  {"sum of squared weights", check.ipr},
                                                                  {"largest weight", check.largest_weight}};
  add_needle(rows, check.needle_weight);
  return judged_together(rows, counted(head));
}

/// Plans from a quarter of the length to the whole length, tried by measuring the head again.
inline std::vector<TriedPlan> tried_plans(std::span<const ScoreArray> one, const MeasurementOptions& options,
                                          const HeadCalibration& head) {
  const double variance = head.rows.quarter.half(0).estimate(RowStatistic::variance).mean;
  const HeadScores<double> normal{.score_stddev = std::sqrt(variance)};
  std::vector<TriedPlan> plans;
  std::vector<std::pair<std::string, statistics::Agreement>> rows;
  for (const auto& [held, quantity, statistic] :
       {std::tuple(Held::entropy, "entropy", RowStatistic::entropy),
        std::tuple(Held::largest_weight, "largest weight", RowStatistic::largest_weight)}) {
    const double target = held_value<double>(held, normal, head.rows.longest / 4, 1.0);
    const auto solved = holding_temperature<double>(held, normal, head.rows.longest, target);
    MeasurementOptions again = options;
    again.inverse_temperature *= solved.inverse_temperature;
    again.needle_gap = 0;
    const auto check = check_held_out(main_bucket(measure_heads(one, again).front()));
    rows.emplace_back(quantity, held == Held::entropy ? check.entropy : check.largest_weight);
    plans.push_back({held,
                     solved.inverse_temperature,
                     {},
                     head.rows.quarter.half(1).estimate(statistic).mean,
                     head.rows.full.half(1).estimate(statistic).mean});
  }
  const auto judged = judged_together(rows, counted(head));
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].result = judged[i];
  return plans;
}

}  // namespace detail

/// Measures a head again, with a needle, and draws conclusions for longer rows.
///
/// `measurement` is what the head was measured with. `wanted` has the needle's gap, the length that the model was
/// trained at, and the factors by which rows become longer.
///
/// Source    derived: docs/theory/calibration.md#verdict, #held-out-check and #holding-a-quantity.
/// Shapes    prompts: the whole arrays that the head was measured in
/// Domain    a head from calibrate_heads; the options of its measurement; factors ascending from 1, two or more.
/// Limits    scores that do not vary, or by less than least_score_stddev: only `lengths`.
/// Errors    as measure_heads and the parts; std::domain_error for a gap that is not positive; std::invalid_argument
///           for factors that do not ascend from 1, and for a trained length below 2.
/// Accuracy  as the parts: tests/calibration/head_detail.cpp.
inline HeadDetail detail_of(std::span<const ScoreArray> prompts, const HeadCalibration& head,
                            const MeasurementOptions& measurement, const DetailOptions& wanted = {}) {
  detail::planned_lengths(wanted, 2);  // refuses bad options before anything is measured
  const std::vector<ScoreArray> one = detail::one_head_of_each(prompts, head.layer, head.head);
  MeasurementOptions with_needle = measurement;
  const double gap = with_needle.needle_gap = wanted.gap.value_or(4 * head.score_stddev);
  HeadMeasurement measured = measure_heads(one, with_needle).front();
  measured.layer = head.layer;
  measured.head = head.head;
  const std::vector<std::int64_t> lengths = detail::planned_lengths(wanted, measured.buckets.back().longest);
  const std::int64_t trained = lengths.front();
  HeadDetail detailed{.head = head, .measured = std::move(measured), .gap = gap, .trained_length = trained};
  for (const LengthBucket& bucket : detailed.measured.buckets) detailed.lengths.push_back(summary_of(bucket, gap));
  detailed.advice = advise({}, head, lengths, wanted.gap);
  if (!(head.score_stddev > 0)) return detailed;
  const LengthBucket& main = main_bucket(detailed.measured);
  detailed.normal_law = detail::beside_normal_law(head, main, gap);
  if (head.held_out) detailed.held_out = detail::held_out_rows(head, main, gap);
  detailed.limits = head_limits(head.score_stddev, gap, trained);
  for (const Held held : {Held::entropy, Held::largest_weight, Held::needle_weight}) {
    detailed.rules[static_cast<std::size_t>(held)] = temperature_rules(held, {head.score_stddev, gap}, lengths);
  }
  if (head.held_out) detailed.plans = detail::tried_plans(one, measurement, head);
  LongerRows longer = longer_rows(one, wanted.gap ? with_needle : measurement);
  detailed.advice = advise(longer, head, lengths, wanted.gap);
  detailed.longer_rows = std::move(longer.rules);
  return detailed;
}

/// As above, of one prompt.
inline HeadDetail detail_of(const ScoreArray& scores, const HeadCalibration& head,
                            const MeasurementOptions& measurement, const DetailOptions& wanted = {}) {
  return detail_of(std::span(&scores, 1), head, measurement, wanted);
}

/// The advice of detail_of alone.
///
/// Source    as advise.
/// Errors    as detail_of.
inline Advice advice_of(std::span<const ScoreArray> prompts, const HeadCalibration& head,
                        const MeasurementOptions& measurement, const DetailOptions& wanted = {}) {
  const auto lengths = detail::planned_lengths(wanted, head.longest);
  if (!(head.score_stddev > 0)) return advise({}, head, lengths, wanted.gap);
  MeasurementOptions with_needle = measurement;
  if (wanted.gap) with_needle.needle_gap = *wanted.gap;
  const std::vector<ScoreArray> one = detail::one_head_of_each(prompts, head.layer, head.head);
  return advise(longer_rows(one, with_needle), head, lengths, wanted.gap);
}

}  // namespace incontext::calibration
