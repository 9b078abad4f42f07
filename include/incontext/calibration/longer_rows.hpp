#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "incontext/calibration/detail/measured_rows.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/judged_quantity.hpp"
#include "incontext/calibration/normal_row.hpp"

/// What a head's weights will be in longer rows, predicted in several ways from its shorter rows, and which way is
/// right.
namespace incontext::calibration {

/// The entropy and the largest weight of a row.
///
/// Units     entropy in nats, largest_weight dimensionless.
struct RowWeights {
  double entropy = 0;
  double largest_weight = 0;
};

/// The weights of a row that becomes longer: its highest scores, the needles, stay single, and every other score
/// recurs.
///
/// \f[ H = \log Z - \frac1Z \sum_j c_j w_j \beta (z_j - z_{\max}),\quad a_{\max} = \frac1Z,\quad Z = \sum_j c_j w_j,\quad
///     w_j = e^{\beta (z_j - z_{\max})},\quad c_j = \frac{m - k}{n - k}\ \text{or, for the $k$ highest, } 1 \f]
///
/// m is `longer`, k is `needles`, n the number of scores. c_j is the mean number of times that score j occurs in a row
/// of m scores, k of which are the needles and the others are drawn from the rest of the row with replacement (the
/// bootstrap). Where many scores share the weight, the law of large numbers makes the mean weights of such rows those
/// of the mean counts. The tail of the scores does not grow: in rows of normal scores the law of normal rows is better.
///
///     const std::vector<double> row{5, 0.2, -1, 0.3};
///     const auto weights = calibration::continued_row(row, 1, 16, 1.0);   // one needle, and 15 scores like the others
///
/// Source    derived: docs/theory/calibration.md#longer-rows; Efron, Annals of Statistics 7 (1979) 1 for the bootstrap.
/// Shapes    scores: n finite numbers, the needles first
/// Units     as RowWeights; inverse_temperature in one over those of the scores.
/// Domain    n >= 1, 0 <= needles, n <= longer for a longer row; a shorter one is taken in proportion.
/// Limits    needles >= n: the row itself; longer = n: the row itself.
/// Errors    NaN outside the domain, and where fewer scores than needles are asked for.
/// Accuracy  1e-12 beside literal rows, and beside the bootstrap: tests/calibration/longer_rows.cpp.
inline RowWeights continued_row(std::span<const double> scores, std::int64_t needles, double longer,
                                double inverse_temperature) {
  const auto n = static_cast<std::int64_t>(scores.size());
  const std::int64_t kept = std::min(needles, n);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (n < 1 || needles < 0 || !(longer >= static_cast<double>(kept))) return {nan, nan};
  const double highest = *std::max_element(scores.begin(), scores.end());
  const double count = kept < n ? (longer - static_cast<double>(kept)) / static_cast<double>(n - kept) : 1;
  double partition_function = 0, weighted_scores = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double below = inverse_temperature * (scores[static_cast<std::size_t>(j)] - highest);
    const double weight = (j < kept ? 1 : count) * std::exp(below);
    partition_function += weight;
    weighted_scores += weight * below;
  }
  return {std::log(partition_function) - weighted_scores / partition_function, 1 / partition_function};
}

/// The ways in which longer rows are predicted; of own_scores there is one for each number of needles.
enum class LongerRowLaw { normal_scores, own_scores, unchanged_weights };

/// One prediction of longer rows beside the measured ones. The rows that judge it did not choose it.
///
/// It has two errors: that of the entropy H in nats, which is the relative error of e^H, a number of keys, and the
/// relative error of the largest weight.
///
/// Units     dimensionless.
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

/// Predictions of a head's longer half of rows from its shorter rows, and its longer rows themselves.
///
/// Units     as its parts.
struct LongerRows {
  std::vector<LongerRowRule> rules = {};  ///< empty where the rows are too few
  std::size_t best = 0;                   ///< the rule that the first half of the groups chooses
  std::size_t next = 0;                   ///< of the others, the one with the least error in that half
  bool rows_grow = false;                 ///< whether the shorter rows are those of earlier queries, not cut ones
  std::vector<std::vector<double>> sample =
      {};  ///< at most 64 of the longer rows, the scores of each in descending order
};

namespace detail {

/// Gives the visible scores of every row of a head to visit(prompt, row), times the inverse temperature.
template <class Visit>
class VisitedRows {
 public:
  VisitedRows(std::span<const ScoreArray> prompts, const MeasurementOptions& options, const Visit& visit)
      : prompts_(prompts), options_(options), visit_(visit) {}

  void read() {
    for (prompt_ = 0; prompt_ < prompts_.size(); ++prompt_) {
      std::vector<Pass> pass{{this}};
      read_group(prompts_[prompt_], head_groups(prompts_[prompt_]).front(), pass);
    }
  }

 private:
  struct Pass {
    VisitedRows* rows;
    void add(std::int64_t query, std::span<double> row) { rows->add(query, row); }
  };

  void add(std::int64_t query, std::span<double> row) {
    if (options_.poll) options_.poll();
    const ScoreArray& scores = prompts_[prompt_];
    if (options_.causal) row = row.first(static_cast<std::size_t>(query + 1 + scores.keys() - scores.queries()));
    row = row.first(static_cast<std::size_t>(keep_visible(row).count));
    for (double& score : row) score *= options_.inverse_temperature;
    visit_(prompt_, row);
  }

  std::span<const ScoreArray> prompts_;
  const MeasurementOptions& options_;
  const Visit& visit_;
  std::size_t prompt_ = 0;
};

template <class Visit>
void visit_rows(std::span<const ScoreArray> prompts, const MeasurementOptions& options, const Visit& visit) {
  VisitedRows<Visit>(prompts, options, visit).read();
}

/// The numbers of needles that are tried. If every score is one, the weights do not change.
inline constexpr std::int64_t needle_counts[] = {std::numeric_limits<std::int64_t>::max(), 0, 1, 2, 4};
inline constexpr std::size_t most_needles = 4;
inline constexpr std::size_t own_rules = std::size(needle_counts);

/// Means over the rows of a group: one prompt, or one batch of the rows of the only prompt.
struct LongerRowGroup {
  std::int64_t short_rows = 0, long_rows = 0;
  double log_short = 0, log_long = 0;  ///< of the lengths
  double variance = 0;                 ///< of the shorter rows
  RowWeights measured = {};
  RowWeights predicted[own_rules] = {};
};

inline void put_needles_first(std::vector<double>& row, std::size_t count) {
  const auto middle = row.begin() + static_cast<std::ptrdiff_t>(std::min(count, row.size()));
  std::partial_sort(row.begin(), middle, row.end(), std::greater<>());
}

inline void add(RowWeights& sum, const RowWeights& row) {
  sum.entropy += row.entropy;
  sum.largest_weight += row.largest_weight;
}

inline void divide(RowWeights& sum, std::int64_t count) {
  sum.entropy /= static_cast<double>(count);
  sum.largest_weight /= static_cast<double>(count);
}

/// Which rows of each prompt are long and which are short, and the group of each.
struct LongerRowPlan {
  static constexpr std::int64_t none = -1;
  bool rows_grow = false;
  std::vector<std::vector<std::int64_t>> long_group, short_group;  ///< by prompt and row
  std::size_t groups = 0;
  std::vector<std::int64_t> sampled;  ///< numbers of long rows in the order in which they are read
};

/// Long rows have more than half of the length of the longest row of their prompt. Short ones have a quarter to a half
/// of it. Where these are fewer than a quarter of the long ones, the first halves of the long rows are taken for them.
inline LongerRowPlan longer_row_plan(const std::vector<std::vector<std::int64_t>>& lengths) {
  constexpr std::int64_t most_batches = 32, most_sampled = 64, least_length = 4;
  LongerRowPlan plan;
  std::vector<std::pair<std::size_t, std::size_t>> long_rows, short_rows;  // prompt and row
  for (std::size_t p = 0; p < lengths.size(); ++p) {
    const std::int64_t longest = lengths[p].empty() ? 0 : *std::max_element(lengths[p].begin(), lengths[p].end());
    for (std::size_t i = 0; i < lengths[p].size(); ++i) {
      const std::int64_t n = lengths[p][i];
      if (2 * n > longest && n >= 2 * least_length) long_rows.emplace_back(p, i);
      if (2 * n <= longest && 4 * n > longest && n >= least_length) short_rows.emplace_back(p, i);
    }
    plan.long_group.emplace_back(lengths[p].size(), LongerRowPlan::none);
    plan.short_group.emplace_back(lengths[p].size(), LongerRowPlan::none);
  }
  plan.rows_grow = 4 * short_rows.size() >= long_rows.size();
  if (!plan.rows_grow) short_rows = long_rows;
  const auto shorter = [&](const auto& a, const auto& b) {
    return lengths[a.first][a.second] < lengths[b.first][b.second];
  };
  if (lengths.size() == 1) {  // batches of rows of about the same length
    std::stable_sort(long_rows.begin(), long_rows.end(), shorter);
    std::stable_sort(short_rows.begin(), short_rows.end(), shorter);
  }
  plan.groups = lengths.size() > 1
                    ? lengths.size()
                    : std::min({static_cast<std::size_t>(most_batches), short_rows.size(), long_rows.size()});
  for (const auto& [rows, groups] : {std::pair(&long_rows, &plan.long_group), {&short_rows, &plan.short_group}}) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const auto& [p, row] = (*rows)[i];
      (*groups)[p][row] = static_cast<std::int64_t>(lengths.size() > 1 ? p : i * plan.groups / rows->size());
    }
  }
  const auto count = static_cast<std::int64_t>(long_rows.size());
  for (std::int64_t i = 0; i < std::min(count, most_sampled); ++i) {
    plan.sampled.push_back(i * count / std::min(count, most_sampled));
  }
  return plan;
}

/// The means of the groups that have both long and short rows, and the sample of long rows.
inline std::vector<LongerRowGroup> longer_row_groups(std::span<const ScoreArray> prompts,
                                                     const MeasurementOptions& options, LongerRows& result) {
  std::vector<std::vector<std::int64_t>> lengths(prompts.size());
  visit_rows(prompts, options, [&](std::size_t prompt, std::span<double> row) {
    lengths[prompt].push_back(static_cast<std::int64_t>(row.size()));
  });
  const LongerRowPlan plan = longer_row_plan(lengths);
  result.rows_grow = plan.rows_grow;
  std::vector<LongerRowGroup> groups(plan.groups);
  // lengths first, which say how much longer a group's rows become
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    for (std::size_t i = 0; i < lengths[p].size(); ++i) {
      const double length = static_cast<double>(lengths[p][i]);
      if (const auto g = plan.long_group[p][i]; g >= 0) {
        LongerRowGroup& group = groups[static_cast<std::size_t>(g)];
        ++group.long_rows;
        group.log_long += std::log(length);
      }
      if (const auto g = plan.short_group[p][i]; g >= 0) {
        LongerRowGroup& group = groups[static_cast<std::size_t>(g)];
        ++group.short_rows;
        group.log_short += std::log(plan.rows_grow ? length : std::floor(length / 2));
      }
    }
  }
  for (LongerRowGroup& group : groups) {
    group.log_long /= static_cast<double>(group.long_rows);
    group.log_short /= static_cast<double>(group.short_rows);
  }
  std::vector<std::size_t> next(prompts.size(), 0);
  std::int64_t long_rows = 0;
  std::vector<double> short_row;
  visit_rows(prompts, options, [&](std::size_t prompt, std::span<double> row) {
    const std::size_t i = next[prompt]++;
    if (const auto g = plan.short_group[prompt][i]; g >= 0) {
      LongerRowGroup& group = groups[static_cast<std::size_t>(g)];
      const auto used = plan.rows_grow ? row : row.first(row.size() / 2);
      short_row.assign(used.begin(), used.end());
      const double n = static_cast<double>(short_row.size());
      const double mean = std::accumulate(short_row.begin(), short_row.end(), 0.0) / n;
      double squares = 0;
      for (const double score : short_row) squares += (score - mean) * (score - mean);
      group.variance += squares / (n - 1);
      put_needles_first(short_row, most_needles);
      const double longer = n * std::exp(group.log_long - group.log_short);
      for (std::size_t rule = 0; rule < own_rules; ++rule) {
        add(group.predicted[rule], continued_row(short_row, needle_counts[rule], longer, 1));
      }
    }
    if (const auto g = plan.long_group[prompt][i]; g >= 0) {
      add(groups[static_cast<std::size_t>(g)].measured, continued_row(row, 0, static_cast<double>(row.size()), 1));
      if (std::binary_search(plan.sampled.begin(), plan.sampled.end(), long_rows++)) {
        result.sample.emplace_back(row.begin(), row.end());
        put_needles_first(result.sample.back(), row.size());
      }
    }
  });
  std::erase_if(groups, [](const LongerRowGroup& group) { return group.short_rows == 0 || group.long_rows == 0; });
  for (LongerRowGroup& group : groups) {
    divide(group.measured, group.long_rows);
    group.variance /= static_cast<double>(group.short_rows);
    for (RowWeights& one : group.predicted) divide(one, group.short_rows);
  }
  return groups;
}

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
      laws.emplace(octave(group), NormalRows(std::max<std::int64_t>(last / 2, 2), last, std::sqrt(variance)));
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

/// Measured beside predicted, in every second group beginning with number `first`.
inline statistics::Agreement longer_row_agreement(const std::vector<LongerRowGroup>& groups,
                                                  const std::vector<RowWeights>& predicted,
                                                  double RowWeights::*quantity, std::size_t first) {
  std::vector<double> off, measured;
  for (std::size_t g = first; g < groups.size(); g += 2) {
    measured.push_back(groups[g].measured.*quantity);
    off.push_back(measured.back() - predicted[g].*quantity);
  }
  const auto estimate_of = [](const std::vector<double>& values) {
    return statistics::Estimate(
        statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size()), statistics::SerialWays{}));
  };
  const statistics::Estimate difference = estimate_of(off);
  statistics::Estimate mean = estimate_of(measured);
  const double theory = mean.mean - difference.mean;
  mean.standard_error = difference.standard_error;
  mean.rounding = 1e-12 * (1 + std::abs(mean.mean));
  return statistics::agree(theory, mean);
}

}  // namespace detail

/// A rule is not preferred to a simpler one for a smaller error than this.
///
/// Units     as LongerRowRule::error.
inline constexpr double least_better = 0.01;

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
/// Source    derived: docs/theory/calibration.md#longer-rows; Breiman et al., Classification and Regression Trees
///           (1984) section 3.4.3 for the one-standard-error rule.
/// Shapes    prompts: one head of each
/// Units     as LongerRows; the options' inverse temperature multiplies the scores.
/// Domain    a head that measure_heads accepts, whose scores vary.
/// Limits    fewer than eight groups: no rules.
/// Errors    numerics::QuadratureError.
/// Accuracy  heads that are made by each rule choose it: tests/calibration/longer_rows.cpp.
inline LongerRows longer_rows(std::span<const ScoreArray> prompts, const MeasurementOptions& options = {}) {
  constexpr std::size_t least_groups = 8;
  LongerRows result;
  const auto groups = detail::longer_row_groups(prompts, options, result);
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
    rule.error = std::max(off(judged[0].agreement), off(judging) / judging.estimate.mean);
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
  const double enough = rules[order[0]].choice_error + std::max(rules[order[0]].choice_noise, least_better);
  while (result.best + 1 < rules.size() && !(rules[result.best].choice_error <= enough)) ++result.best;
  result.next = order[result.best == order[0] ? 1 : 0];
  return result;
}

}  // namespace incontext::calibration
