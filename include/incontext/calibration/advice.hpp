#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "incontext/calibration/head_calibration.hpp"
#include "incontext/calibration/head_summary.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/longer_rows.hpp"
#include "incontext/calibration/temperature_rules.hpp"
#include "incontext/numerics/solve.hpp"

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
  std::vector<std::int64_t> lengths = {};
  std::vector<double> inverse_temperature =
      {};  ///< at these lengths; NaN where none holds it; empty where none is held
};

/// A rule that misses the weights of longer rows by more than this is no ground for a temperature.
///
/// Units     as LongerRowRule::error.
inline constexpr double largest_rule_error = 0.1;

/// The lowest inverse temperature above 1 at which sampled rows that become `length` long have the quantity at
/// `target`, by their own scores and a number of needles; NaN where there is none.
///
/// \f[ \beta:\quad \frac1R \sum_i Q(\mathrm{row}_i, k, n, \beta) = Q_0 \f]
///
/// Source    continued_row, solved for beta by Boost.Math's TOMS 748.
/// Shapes    sample: R rows, each in descending order
/// Units     target in nats for the entropy, else dimensionless.
/// Domain    held is the entropy or the largest weight.
/// Limits    length equal to that at which the target was measured: 1.
/// Accuracy  1e-9 in the quantity: tests/calibration/advice.cpp.
inline double own_scores_temperature(const std::vector<std::vector<double>>& sample, std::int64_t needles, Held held,
                                     std::int64_t length, double target) {
  const auto excess = [&](double log_beta) {
    double mean = 0;
    for (const auto& row : sample) {
      const auto weights = continued_row(row, needles, static_cast<double>(length), std::exp(log_beta));
      mean += (held == Held::entropy ? weights.entropy : weights.largest_weight) / static_cast<double>(sample.size());
    }
    return held == Held::entropy ? target - mean : mean - target;
  };
  const double octave = std::log(2.0);
  constexpr int most_octaves = 10;
  constexpr double rounding = 1e-12;
  if (std::abs(excess(0)) <= rounding * (1 + std::abs(target))) return 1;
  for (int i = 0; i < most_octaves; ++i) {
    const double low = i * octave, high = low + octave;
    if (excess(low) <= 0 && excess(high) >= 0) {
      return std::exp(
          numerics::root_between<double>("calibration::own_scores_temperature", excess, low, high, {.scale = 1.0}));
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

namespace detail {

/// The mean largest weight of the sampled rows.
inline double sampled_largest_weight(const LongerRows& longer) {
  double mean = 0;
  for (const auto& row : longer.sample) {
    mean += continued_row(row, 0, static_cast<double>(row.size()), 1).largest_weight /
            static_cast<double>(longer.sample.size());
  }
  return mean;
}

/// Why a head should be left alone; empty where a quantity can be held.
inline std::string reason_to_leave(const LongerRows& longer, const HeadCalibration& head) {
  if (!(head.score_stddev >= nearly_equal_score_stddev)) return "its weights are equal, or nearly so: nothing to hold";
  if (longer.rules.empty())
    return "too few " + std::string(head.prompts > 1 ? "prompts" : "rows") + " to try a rule on them";
  const LongerRowRule& best = longer.rules[longer.best];
  if (!(best.error <= largest_rule_error)) {
    return "no rule predicts its longer rows: the best, " + best.name + ", is wrong by " +
           statistics::percent_text(best.error);
  }
  for (const auto* one : {&best.entropy, &best.largest_weight}) {
    const double size = std::abs(one->agreement.theory);
    const double scale = one == &best.entropy && size > 0 ? size : 1;  // in nats, as the error
    const double known = scale * std::max(one->effect.within, one->effect.resolution);
    if (!(known <= statistics::coarsest_resolution)) {
      return "too few " + std::string(head.prompts > 1 ? "prompts" : "rows") + " to know: the " + one->quantity +
             " by the best rule, " + best.name + ", may be wrong by " +
             (one == &best.entropy ? short_text(known, 2) + " nats" : statistics::percent_text(known));
    }
  }
  if (best.law == LongerRowLaw::unchanged_weights) return "its weights do not change when rows become longer";
  return {};
}

}  // namespace detail

/// Advice for one head. `gap` is given by a user whose head must find a needle that is so much above the mean of its
/// competitors; the row's own scores do not tell that.
///
/// The head is left alone where its weights are equal, where no rule of longer_rows was within largest_rule_error in
/// the rows that judge it, where its rows are too few to know, and where its weights do not change with the length.
/// Else, if a gap is given and the law of normal scores predicts the head best, the needle's weight is held; if one key
/// has half of the weight, the largest weight, because it finds one key; else the entropy, because it mixes many.
///
/// Source    derived: docs/theory/calibration.md#longer-rows.
/// Shapes    lengths: m, that of training first -> m inverse temperatures
/// Units     as Advice; gap of the scores times the inverse temperature.
/// Domain    a head from calibrate_heads and its longer_rows; lengths >= 2, ascending.
/// Errors    as holding_temperature.
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
  const LongerRowRule& best = longer.rules[longer.best];
  const double largest = detail::sampled_largest_weight(longer);
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
  if (is_normal) {
    const HeadScores<double> scores{.score_stddev = head.score_stddev, .gap = gap.value_or(0)};
    const double target = held_value<double>(*advice.held, scores, lengths.front(), 1.0);
    advice.inverse_temperature = detail::exact_rule(*advice.held, scores, lengths, target).inverse_temperature;
    return advice;
  }
  double target = 0;
  for (const auto& row : longer.sample) {
    const auto now = continued_row(row, best.needles, static_cast<double>(lengths.front()), 1);
    target +=
        (advice.held == Held::entropy ? now.entropy : now.largest_weight) / static_cast<double>(longer.sample.size());
  }
  for (const std::int64_t length : lengths) {
    advice.inverse_temperature.push_back(
        own_scores_temperature(longer.sample, best.needles, *advice.held, length, target));
  }
  return advice;
}

}  // namespace incontext::calibration
