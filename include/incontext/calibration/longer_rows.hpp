#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "incontext/calibration/batch_means.hpp"
#include "incontext/calibration/continued_row.hpp"
#include "incontext/calibration/detail/longer_row_groups.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/judged_quantity.hpp"
#include "incontext/calibration/longer_row_temperatures.hpp"
#include "incontext/calibration/normal_row.hpp"
#include "incontext/calibration/temperature_rules.hpp"

/// What a head's weights will be in longer rows, predicted in several ways from its shorter rows, and which way is
/// right.
namespace incontext::calibration {

/// One prediction of longer rows beside the measured ones. The rows that judge it did not choose it.
///
/// It has two errors: that of the entropy H in nats, which is the relative error of e^H, a number of keys, and the
/// relative error of the largest weight.
struct LongerRowRule {
  std::string name;
  LongerRowLaw law;
  std::int64_t needles = 0;     ///< of own_scores
  double choice_error = 0;      ///< the sum of the two errors, in the rows that choose
  double choice_noise = 0;      ///< the standard error of that
  double error = 0;             ///< the larger one, in the rows that judge
  JudgedQuantity entropy = {};  ///< in the rows that judge
  JudgedQuantity largest_weight = {};
};

/// The inverse temperature of the best rule tried on the head's own rows, those that did not choose the rule. From their
/// shorter rows the rule finds the inverse temperature at which the longer ones should have what the shorter ones have
/// at 1, and the longer ones are measured at it.
///
/// The error of the entropy is in nats, that of a weight relative to the shorter rows' weight.
///
/// TriedPlan is another check: by the law of normal scores alone, from quarters of rows.
///
/// Source    derived: docs/theory/calibration.md#longer-rows.
/// Units     inverse_temperature in one over those of the scores, lengths in keys, errors dimensionless.
struct TriedTemperature {
  Held held;
  double inverse_temperature = std::numeric_limits<double>::quiet_NaN();  ///< NaN where none holds the quantity
  std::int64_t shorter = 0, longer = 0;                                   ///< geometric means of the rows' lengths
  std::string reason = {};                                                ///< why there is none
  double error = statistics::Effect::unknown;                             ///< how much the longer rows missed it
  JudgedQuantity result = {};                                             ///< the longer rows beside the shorter ones
};

/// Predictions of a head's longer half of rows from its shorter rows, and its longer rows themselves.
struct LongerRows {
  std::vector<LongerRowRule> rules = {};  ///< empty where the rows are too few
  std::size_t best = 0;                   ///< the rule that the first half of the groups chooses
  std::size_t next = 0;                   ///< of the others, the one with the least error in that half
  bool rows_grow = false;                 ///< whether the shorter rows are those of earlier queries, not cut ones
  std::vector<std::vector<double>> sample = {};  ///< at most 64 of the longer rows, each in descending order
  double needle_gap = 0;                         ///< of the needle that was tried, 0 for none
  std::vector<TriedTemperature> tried = {};  ///< of the best rule, for each quantity; none if it is unchanged weights
};

namespace detail {

/// The law of normal rows at the lengths of the groups, to first order in how a group's variance differs from the mean.
inline std::vector<RowWeights> normal_longer_rows(const std::vector<LongerRowGroup>& groups) {
  const auto octave = [](const LongerRowGroup& group) {
    return octave_of(static_cast<std::int64_t>(std::ceil(std::exp(group.log_long))));
  };
  double variance = 0;
  for (const LongerRowGroup& group : groups) variance += group.variance / static_cast<double>(groups.size());
  std::map<int, NormalRows> laws;  // one per octave of lengths
  for (const LongerRowGroup& group : groups) {
    const std::int64_t last = std::int64_t{1} << octave(group);
    if (!laws.contains(octave(group))) {
      laws.emplace(octave(group), NormalRows((std::max<std::int64_t>)(last / 2, 2), last, std::sqrt(variance)));
    }
  }
  std::vector<RowWeights> predicted;
  for (const LongerRowGroup& group : groups) {
    RowStatistics at{};
    const NormalRows& law = laws.at(octave(group));
    const double u = group.log_long - std::log(std::ldexp(1.0, octave(group)));
    at[RowStatistic::log_length] = u;
    at[RowStatistic::log_length_squared] = u * u;
    at[RowStatistic::log_length_cubed] = u * u * u;
    const auto value = [&](RowStatistic which) {
      return law.predict(which, at).value + law.slope(which, at) * (group.variance - variance);
    };
    predicted.push_back({value(RowStatistic::entropy), value(RowStatistic::largest_weight)});
  }
  return predicted;
}

/// Measured beside predicted, group by group.
inline statistics::Agreement paired_agreement(const std::vector<double>& predicted,
                                              const std::vector<double>& measured) {
  std::vector<double> off(measured.size());
  std::transform(measured.begin(), measured.end(), predicted.begin(), off.begin(), std::minus<>());
  const statistics::Estimate difference = estimate_of(off);
  statistics::Estimate mean = estimate_of(measured);
  const double theory = mean.mean - difference.mean;
  mean.standard_error = difference.standard_error;
  mean.rounding = 1e-12 * (1 + std::abs(mean.mean));
  return statistics::agree(theory, mean);
}

/// Measured beside predicted, in every second group beginning with number `first`.
inline statistics::Agreement longer_row_agreement(const std::vector<LongerRowGroup>& groups,
                                                  const std::vector<RowWeights>& predicted,
                                                  double RowWeights::*quantity, std::size_t first) {
  std::vector<double> expected, measured;
  for (std::size_t g = first; g < groups.size(); g += 2) {
    measured.push_back(groups[g].measured.*quantity);
    expected.push_back(predicted[g].*quantity);
  }
  return paired_agreement(expected, measured);
}

/// The best rule's inverse temperatures, from the shorter rows that judge, tried on the longer ones.
inline std::vector<TriedTemperature> tried_temperatures(std::span<const ScoreArray> prompts,
                                                        const MeasurementOptions& options, const LongerRowGroups& read,
                                                        const LongerRowRule& best) {
  const std::size_t judging = read.groups.size() / 2;
  const auto groups = static_cast<double>(judging);
  double log_short = 0, log_long = 0, variance = 0;
  for (std::size_t g = 1; g < read.groups.size(); g += 2) {
    log_short += read.groups[g].log_short;
    log_long += read.groups[g].log_long;
    variance += read.groups[g].variance;
  }
  if (!(variance > 0)) return {};
  const std::int64_t shorter = std::llround(std::exp(log_short / groups)),
                     longer = std::llround(std::exp(log_long / groups));
  const HeadScores<double> normal{.score_stddev = std::sqrt(variance / groups), .gap = options.needle_gap};
  std::vector<Held> quantities{Held::entropy, Held::largest_weight};
  if (best.law == LongerRowLaw::normal_scores && options.needle_gap > 0) quantities.push_back(Held::needle_weight);
  std::vector<TriedTemperature> tried;
  std::vector<std::pair<std::string, statistics::Agreement>> measured;
  for (const Held held : quantities) {
    TriedTemperature one{.held = held, .shorter = shorter, .longer = longer};
    const std::int64_t planted = held == Held::needle_weight ? 1 : 0;
    const TemperatureRule rule = longer_row_temperatures(best.law, best.needles, read.short_sample, normal, held,
                                                         {shorter + planted, longer + planted});
    one.inverse_temperature = rule.inverse_temperature[1];
    one.reason = rule.reason;
    tried.push_back(one);
    if (!(one.inverse_temperature > 0)) continue;
    const HeldMeans means = held_means(prompts, options, read, held, one.inverse_temperature);
    measured.emplace_back(held_name(held), paired_agreement(means.shorter, means.longer));
    const auto& judged = measured.back().second;
    tried.back().error = std::abs(judged.estimate.mean - judged.theory) / (held == Held::entropy ? 1 : judged.theory);
  }
  const auto judged = judged_together(measured, prompts.size() > 1 ? "prompts" : "rows");
  std::size_t next = 0;
  for (TriedTemperature& one : tried) {
    if (one.inverse_temperature > 0) one.result = judged[next++];
  }
  return tried;
}

}  // namespace detail

/// A rule is not preferred to a simpler one for a smaller error than this.
///
/// Units     as LongerRowRule::error.
inline constexpr double least_better = 0.01;

/// A rule that misses the weights of longer rows by more than this is no ground for a temperature, and a temperature
/// that misses what it is to hold by more is none for others.
///
/// Units     as LongerRowRule::error.
inline constexpr double largest_rule_error = 0.1;

/// Predicts the longer half of a head's rows from its shorter rows by every rule. Every second group of rows chooses
/// the rule, and the others judge it. Chosen is the simplest rule, the first in their order, whose error is not larger
/// than the least by more than its standard error (the one-standard-error rule), or by least_better.
///
/// The rules are, in this order: weights that do not change; normal scores of the shorter rows' standard deviation
/// (NormalRows); and the row's own scores with 0, 1, 2 or 4 needles that stay single (continued_row). Longer rows are
/// those with more than half of the keys of the longest row of their prompt. Shorter rows are those of earlier queries
/// that see a quarter to a half of its keys; where there are none, as without a causal mask, they are the first halves
/// of the longer rows. A group is a prompt, or, if there is one prompt, a batch of rows of similar length.
///
/// The inverse temperatures that the best rule finds from the shorter rows are tried on the longer ones if the rule's
/// error is at most largest_rule_error; for the needle if the options have its gap and the rule is the law of normal
/// scores. One inverse temperature is tried for all prompts: of prompts of very different lengths, misses of both signs
/// may cancel.
///
/// Source    derived: docs/theory/calibration.md#longer-rows; Breiman et al., Classification and Regression Trees
///           (1984) section 3.4.3 for the one-standard-error rule.
/// Shapes    prompts: one head of each
/// Units     as LongerRows; the options' inverse temperature multiplies the scores.
/// Domain    a head that measure_heads accepts, whose scores vary.
/// Limits    fewer than eight groups: no rules.
/// Errors    numerics::QuadratureError; std::domain_error as the laws of normal rows.
/// Accuracy  heads that are made by each rule choose it: tests/calibration/longer_rows.cpp.
inline LongerRows longer_rows(std::span<const ScoreArray> prompts, const MeasurementOptions& options = {}) {
  constexpr std::size_t least_groups = 8;
  detail::LongerRowGroups read = detail::longer_row_groups(prompts, options);
  const std::vector<detail::LongerRowGroup>& groups = read.groups;
  LongerRows result{
      .rows_grow = read.plan.rows_grow, .sample = std::move(read.sample), .needle_gap = options.needle_gap};
  if (groups.size() < least_groups) return result;
  const auto add_rule = [&](std::string name, LongerRowLaw law, std::int64_t needles,
                            const std::vector<RowWeights>& predicted) {
    LongerRowRule rule{.name = std::move(name), .law = law, .needles = needles};
    const auto agreement = [&](double RowWeights::*quantity, std::size_t first) {
      return detail::longer_row_agreement(groups, predicted, quantity, first);
    };
    const auto off = [](const statistics::Agreement& one) { return std::abs(one.theory - one.estimate.mean); };
    const auto judged = judged_together({{"entropy", agreement(&RowWeights::entropy, 1)},
                                         {"largest weight", agreement(&RowWeights::largest_weight, 1)}},
                                        prompts.size() > 1 ? "prompts" : "rows");
    rule.entropy = judged[0];
    rule.largest_weight = judged[1];
    const auto& judging = judged[1].agreement;
    rule.error = (std::max)(off(judged[0].agreement), off(judging) / judging.estimate.mean);
    const auto entropy = agreement(&RowWeights::entropy, 0), largest = agreement(&RowWeights::largest_weight, 0);
    rule.choice_error = off(entropy) + off(largest) / largest.estimate.mean;
    rule.choice_noise =
        std::hypot(entropy.estimate.standard_error, largest.estimate.standard_error / largest.estimate.mean);
    result.rules.push_back(std::move(rule));
  };
  const auto predicted_by = [&](std::size_t own) {
    std::vector<RowWeights> predicted;
    predicted.reserve(groups.size());
    for (const auto& group : groups) predicted.push_back(group.predicted[own]);
    return predicted;
  };
  add_rule("unchanged weights", LongerRowLaw::unchanged_weights, 0, predicted_by(0));
  add_rule("normal scores", LongerRowLaw::normal_scores, 0, detail::normal_longer_rows(groups));
  for (std::size_t own = 1; own < detail::own_rules; ++own) {
    const std::int64_t needles = detail::needle_counts[own];
    const std::string name = ", " + std::to_string(needles) + (needles > 1 ? " needles" : " needle");
    add_rule("own scores" + (needles > 0 ? name : ""), LongerRowLaw::own_scores, needles, predicted_by(own));
  }
  const auto& rules = result.rules;
  std::vector<std::size_t> order(rules.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto known = [](const LongerRowRule& rule) {  // the worst, where there is none
    return rule.choice_error >= 0 ? rule.choice_error : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return known(rules[a]) < known(rules[b]); });
  const double enough = rules[order[0]].choice_error + (std::max)(rules[order[0]].choice_noise, least_better);
  while (result.best + 1 < rules.size() && !(rules[result.best].choice_error <= enough)) ++result.best;
  result.next = order[result.best == order[0] ? 1 : 0];
  if (const auto& best = rules[result.best];
      best.law != LongerRowLaw::unchanged_weights && best.error <= largest_rule_error) {
    result.tried = detail::tried_temperatures(prompts, options, read, rules[result.best]);
  }
  return result;
}

}  // namespace incontext::calibration
