#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "incontext/calibration/head_calibration.hpp"
#include "incontext/calibration/head_summary.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/length_summary.hpp"
#include "incontext/calibration/longer_row_temperatures.hpp"
#include "incontext/calibration/longer_rows.hpp"

namespace incontext::calibration {

/// What to do with a head in longer rows: which quantity can be held, by which inverse temperatures, or why none.
///
/// It says what can be held, and not that holding it helps: whether a model becomes better by it is a question to its
/// task.
///
/// Units     errors as LongerRowRule::error, inverse temperatures in one over those of the scores.
struct Advice {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::optional<Held> held = {};  ///< none: leave the head alone
  std::string reason = {};
  std::string rule = {};                       ///< the one that predicts longer rows best; empty where none was tried
  double error = statistics::Effect::unknown;  ///< its error in rows that did not choose it
  std::string next_rule = {};
  double next_error = statistics::Effect::unknown;
  std::optional<TriedTemperature> tried = {};  ///< the rule's inverse temperature on the head's own rows
  std::vector<std::int64_t> lengths = {};
  std::vector<double> inverse_temperature =
      {};  ///< at these lengths; NaN where none holds it; empty where none is held
};

/// An inverse temperature whose true miss may be larger than this is no ground for others.
///
/// Units     as TriedTemperature::error.
inline constexpr double largest_possible_error = 0.25;

/// Rows that differ more in their width have no common inverse temperature for the entropy that a rule could find.
inline constexpr double largest_width_difference = 0.3;

namespace detail {

/// Means over the sampled rows: of the largest weight, and of the entropy less that of equal weights.
inline RowWeights sampled_weights(const LongerRows& longer) {
  RowWeights mean;
  const auto rows = static_cast<double>(longer.sample.size());
  for (const auto& row : longer.sample) {
    const auto n = static_cast<double>(row.size());
    const RowWeights one = continued_row(row, 0, n, 1);
    mean.entropy += (one.entropy - std::log(n)) / rows;
    mean.largest_weight += one.largest_weight / rows;
  }
  return mean;
}

/// Why a judged quantity tells too little; empty where its deviation is known to be at most `most`. `by` is what
/// predicted it.
inline std::string reason_not_known(const JudgedQuantity& one, bool is_entropy, double most, const std::string& by,
                                    const HeadCalibration& head) {
  const double size = std::abs(one.agreement.theory);
  const double scale = is_entropy && size > 0 ? size : 1;  // in nats, as the error
  const double known = scale * (std::max)(one.effect.within, one.effect.resolution);
  if (known <= most) return {};
  return "too few " + std::string(head.prompts > 1 ? "prompts" : "rows") + " to know: the " + one.quantity + " by " +
         by + " may be wrong by " + (is_entropy ? short_text(known, 2) + " nats" : statistics::percent_text(known));
}

/// How large the error of a judged quantity is at least, beyond chance: in nats for the entropy, relative to what was
/// measured for the largest weight, as LongerRowRule::error.
inline double least_error(const JudgedQuantity& one, bool is_entropy) {
  const double size = std::abs(one.agreement.theory);
  const double scale = size > 0 ? size : 1;  // of the effect
  const double least = (2 * std::abs(one.effect.deviation) - one.effect.within) * scale;
  return is_entropy ? least : least / one.agreement.estimate.mean;
}

/// Why a head should be left alone; empty where a quantity can be held.
inline std::string reason_to_leave(const LongerRows& longer, const HeadCalibration& head) {
  if (!(head.score_stddev >= nearly_equal_score_stddev)) return "its weights are equal, or nearly so: nothing to hold";
  if (longer.rules.empty())
    return "too few " + std::string(head.prompts > 1 ? "prompts" : "rows") + " to try a rule on them";
  const LongerRowRule& best = longer.rules[longer.best];
  if (!(best.error <= largest_rule_error)) {
    const std::string off = best.name + ", chosen on one half of them, is wrong by " +
                            statistics::percent_text(best.error) + " on the other half";
    const double least = std::fmax(least_error(best.entropy, true), least_error(best.largest_weight, false));
    if (least > largest_rule_error) return "no rule predicts its longer rows: " + off;
    if (least > 0) return "no rule is known to predict its longer rows: " + off;
    return "too few " + std::string(head.prompts > 1 ? "prompts" : "rows") + " to know: the best rule, " + off +
           ", as it may be by chance";
  }
  for (const auto* one : {&best.entropy, &best.largest_weight}) {
    auto reason = reason_not_known(*one, one == &best.entropy, statistics::coarsest_resolution,
                                   "the best rule, " + best.name + ",", head);
    if (!reason.empty()) return reason;
  }
  if (best.law == LongerRowLaw::unchanged_weights) return "its weights do not change when rows become longer";
  return {};
}

/// Why a rule's inverse temperature that was tried is no ground for others; empty where it held the quantity.
inline std::string reason_not_held(const TriedTemperature& tried, const std::string& rule,
                                   const HeadCalibration& head) {
  const bool is_entropy = tried.held == Held::entropy;
  const std::string from = "from " + std::to_string(tried.shorter) + " to " + std::to_string(tried.longer) + " keys";
  if (!(tried.inverse_temperature > 0))
    return "no inverse temperature holds the " + std::string(held_name(tried.held)) + " " + from + ", by " + rule +
           ": " + tried.reason;
  const std::string by =
      "the inverse temperature " + short_text(tried.inverse_temperature, 3) + " " + from + ", by " + rule + ",";
  if (!(tried.error <= largest_rule_error)) {
    return by + " misses the " + std::string(held_name(tried.held)) + " of its own rows by " +
           (is_entropy ? short_text(tried.error, 2) + " nats" : statistics::percent_text(tried.error));
  }
  return reason_not_known(tried.result, is_entropy, largest_possible_error, by, head);
}

}  // namespace detail

/// Advice for one head. `gap` is given by a user whose head must find a needle that is so much above the mean of its
/// competitors; the row's own scores do not tell that.
///
/// The head is left alone where its weights are equal, where no rule of longer_rows was within largest_rule_error in
/// the rows that judge it, where its rows are too few to know, where its weights do not change with the length, and
/// where the rule's inverse temperature, tried on the head's own rows, missed the quantity by more than
/// largest_rule_error, or may have missed it by more than largest_possible_error. So is a head that mixes many keys and
/// whose rows differ in width by more than largest_width_difference, or whose entropy is less than largest_rule_error
/// below that of equal weights: a rule may be wrong by as much. Else, if a gap is given and the law of
/// normal scores predicts the head best, the needle's weight is held; if one key has half of the weight, the largest
/// weight, because it finds one key; else the entropy, because it mixes many.
///
/// Source    derived: docs/theory/calibration.md#longer-rows.
/// Shapes    lengths: m, that of training first -> m inverse temperatures
/// Units     as Advice; gap of the scores times the inverse temperature.
/// Domain    a head from calibrate_heads and its longer_rows, measured with the gap if there is one; lengths >= 2,
///           ascending.
/// Errors    std::invalid_argument for a gap that is not that of longer_rows; as holding_temperature.
/// Accuracy  heads of each kind: tests/calibration/advice.cpp.
inline Advice advise(const LongerRows& longer, const HeadCalibration& head, const std::vector<std::int64_t>& lengths,
                     std::optional<double> gap = {}) {
  Advice advice{.layer = head.layer, .head = head.head, .lengths = lengths};
  if (!longer.rules.empty()) {
    advice.rule = longer.rules[longer.best].name;
    advice.error = longer.rules[longer.best].error;
    advice.next_rule = longer.rules[longer.next].name;
    advice.next_error = longer.rules[longer.next].error;
  }
  advice.reason = detail::reason_to_leave(longer, head);
  if (!advice.reason.empty()) return advice;
  if (gap && !(*gap == longer.needle_gap)) {
    throw_invalid_argument("calibration::advise", "gap is not that of longer_rows", *gap,
                           short_text(longer.needle_gap, 6));
  }
  const LongerRowRule& best = longer.rules[longer.best];
  const RowWeights sampled = detail::sampled_weights(longer);
  const double largest = sampled.largest_weight;
  const bool is_normal = best.law == LongerRowLaw::normal_scores;
  constexpr double half = 0.5;
  if (gap && is_normal) {
    advice.held = Held::needle_weight;
    advice.reason = "a needle's gap was given, and its competitors are normal scores";
  } else if (largest >= half) {
    advice.held = Held::largest_weight;
    advice.reason = "one key has " + statistics::percent_text(largest) + " of the weight";
  } else {
    advice.held = Held::entropy;
    advice.reason = "many keys share the weight, of which the first has " + statistics::percent_text(largest);
  }
  for (const TriedTemperature& tried : longer.tried) {
    if (tried.held == *advice.held) advice.tried = tried;
  }
  std::string reason =
      advice.held == Held::entropy && -sampled.entropy < largest_rule_error
          ? "its entropy is " + short_text(-sampled.entropy, 2) + " nats below that of equal weights: nothing to hold"
      : advice.tried ? detail::reason_not_held(*advice.tried, best.name, head)
                     : "its inverse temperature was not tried";
  if (const double differ = width_difference(head.rows);
      reason.empty() && advice.held == Held::entropy && differ > largest_width_difference) {
    reason = "its rows differ in width by " + statistics::percent_text(differ) + ": no inverse temperature suits all";
  }
  if (!reason.empty()) {
    advice.held.reset();
    advice.reason = reason;
    return advice;
  }
  const HeadScores<double> normal{.score_stddev = head.score_stddev, .gap = gap.value_or(0)};
  const TemperatureRule rule =
      longer_row_temperatures(best.law, best.needles, longer.sample, normal, *advice.held, lengths);
  const auto holds = [](double inverse_temperature) { return inverse_temperature > 0; };
  if (std::none_of(rule.inverse_temperature.begin() + 1, rule.inverse_temperature.end(), holds)) {
    advice.held.reset();
    advice.reason = rule.reason;
    return advice;
  }
  advice.inverse_temperature = rule.inverse_temperature;
  return advice;
}

}  // namespace incontext::calibration
