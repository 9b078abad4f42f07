#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "incontext/calibration/continued_row.hpp"
#include "incontext/calibration/detail/measured_rows.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/held_quantity.hpp"

/// A head's long rows and its short ones, in groups, with what the scores of the short ones predict for the long ones.
namespace incontext::calibration::detail {

/// Gives the visible scores of every row of a head to visit(prompt, row), times the inverse temperature.
template <class Visit>
void visit_rows(std::span<const ScoreArray> prompts, const MeasurementOptions& options, const Visit& visit) {
  for (std::size_t prompt = 0; prompt < prompts.size(); ++prompt) {
    const ScoreArray& scores = prompts[prompt];
    const auto add = [&](std::size_t, std::int64_t, std::span<double> row) {
      if (options.poll) options.poll();
      row = row.first(static_cast<std::size_t>(keep_visible(row, options.finite_masks).count));
      for (double& score : row) score *= options.inverse_temperature;
      visit(prompt, row);
    };
    read_group(scores, head_groups(scores).front(), options.causal, add);
  }
}

/// The numbers of needles that are tried. If every score is one, the weights do not change.
inline constexpr std::int64_t needle_counts[] = {(std::numeric_limits<std::int64_t>::max)(), 0, 1, 2, 4};
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
  const auto middle = row.begin() + static_cast<std::ptrdiff_t>((std::min)(count, row.size()));
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
};

/// At most 64 of `count` rows, one of each 64th part. Its place within the part moves by the golden ratio: a fixed one
/// would be the same query of every prompt, and so the same length.
inline std::vector<std::int64_t> sampled_of(std::int64_t count) {
  constexpr std::int64_t most_sampled = 64;
  constexpr double golden = 0.618033988749895;
  const std::int64_t parts = (std::min)(count, most_sampled);
  std::vector<std::int64_t> chosen;
  chosen.reserve(static_cast<std::size_t>(parts));
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = i * count / parts, last = (i + 1) * count / parts;
    const double place = golden * static_cast<double>(i + 1);
    chosen.push_back(first +
                     static_cast<std::int64_t>((place - std::floor(place)) * static_cast<double>(last - first)));
  }
  return chosen;
}

/// Long rows have more than half of the length of the longest row of their prompt. Short ones have a quarter to a half
/// of it. Where these are fewer than a quarter of the long ones, the first halves of the long rows are taken for them.
inline LongerRowPlan longer_row_plan(const std::vector<std::vector<std::int64_t>>& lengths) {
  constexpr std::int64_t most_batches = 32, least_length = 4;
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
                    : (std::min)({static_cast<std::size_t>(most_batches), short_rows.size(), long_rows.size()});
  for (const auto& [rows, groups] : {std::pair(&long_rows, &plan.long_group), {&short_rows, &plan.short_group}}) {
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const auto& [p, row] = (*rows)[i];
      (*groups)[p][row] = static_cast<std::int64_t>(lengths.size() > 1 ? p : i * plan.groups / rows->size());
    }
  }
  return plan;
}

/// The means of the groups that have both long and short rows, and samples of the rows.
struct LongerRowGroups {
  LongerRowPlan plan = {};
  std::vector<LongerRowGroup> groups = {};
  std::vector<std::vector<double>> sample = {};        ///< of the long rows, the scores of each in descending order
  std::vector<std::vector<double>> short_sample = {};  ///< of the short rows in the groups that judge
};

/// The numbers and mean logarithms of the lengths of the groups' rows. Groups that lack long or short rows are taken
/// out of the plan.
inline std::vector<LongerRowGroup> counted_groups(LongerRowPlan& plan,
                                                  const std::vector<std::vector<std::int64_t>>& lengths) {
  std::vector<LongerRowGroup> groups(plan.groups);
  for (std::size_t p = 0; p < lengths.size(); ++p) {
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
  const auto is_incomplete = [](const LongerRowGroup& group) { return group.short_rows == 0 || group.long_rows == 0; };
  std::vector<std::int64_t> number;
  number.reserve(groups.size());
  for (std::int64_t complete = 0; const LongerRowGroup& group : groups) {
    number.push_back(is_incomplete(group) ? LongerRowPlan::none : complete++);
  }
  for (auto* const rows : {&plan.long_group, &plan.short_group}) {
    for (auto& prompt : *rows) {
      for (std::int64_t& g : prompt) g = g < 0 ? g : number[static_cast<std::size_t>(g)];
    }
  }
  std::erase_if(groups, is_incomplete);
  plan.groups = groups.size();
  for (LongerRowGroup& group : groups) {
    group.log_long /= static_cast<double>(group.long_rows);
    group.log_short /= static_cast<double>(group.short_rows);
  }
  return groups;
}

/// Gives every row to visit(row, group of its short rows or none, group of its long rows or none).
template <class Visit>
void visit_planned(std::span<const ScoreArray> prompts, const MeasurementOptions& options, const LongerRowPlan& plan,
                   const Visit& visit) {
  std::vector<std::size_t> next(prompts.size(), 0);
  visit_rows(prompts, options, [&](std::size_t prompt, std::span<double> row) {
    const std::size_t i = next[prompt]++;
    visit(row, plan.short_group[prompt][i], plan.long_group[prompt][i]);
  });
}

/// The scores of a short row: the row, or its first half where rows are cut.
inline std::span<const double> short_row_of(const LongerRowPlan& plan, std::span<const double> row) {
  return plan.rows_grow ? row : row.first(row.size() / 2);
}

/// Whether a group chooses: every second one, beginning with 0. The others judge.
inline bool chooses(std::int64_t group) { return group % 2 == 0; }

inline LongerRowGroups longer_row_groups(std::span<const ScoreArray> prompts, const MeasurementOptions& options) {
  std::vector<std::vector<std::int64_t>> lengths(prompts.size());
  visit_rows(prompts, options, [&](std::size_t prompt, std::span<double> row) {
    lengths[prompt].push_back(static_cast<std::int64_t>(row.size()));
  });
  LongerRowGroups result{.plan = longer_row_plan(lengths)};
  // lengths first, which say how much longer a group's rows become
  result.groups = counted_groups(result.plan, lengths);
  const LongerRowPlan& plan = result.plan;
  std::vector<LongerRowGroup>& groups = result.groups;
  std::int64_t long_rows = 0, short_rows = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    long_rows += groups[g].long_rows;
    short_rows += chooses(static_cast<std::int64_t>(g)) ? 0 : groups[g].short_rows;
  }
  const std::vector<std::int64_t> sampled = sampled_of(long_rows), sampled_short = sampled_of(short_rows);
  const auto add_sampled = [](const auto& numbers, std::int64_t& next, std::span<const double> row, auto& sample) {
    if (!std::binary_search(numbers.begin(), numbers.end(), next++)) return;
    sample.emplace_back(row.begin(), row.end());
    put_needles_first(sample.back(), row.size());
  };
  std::int64_t next_long = 0, next_short = 0;
  std::vector<double> short_row;
  visit_planned(prompts, options, plan, [&](std::span<double> row, std::int64_t short_group, std::int64_t long_group) {
    if (short_group >= 0) {
      LongerRowGroup& group = groups[static_cast<std::size_t>(short_group)];
      const auto used = short_row_of(plan, row);
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
      if (!chooses(short_group)) add_sampled(sampled_short, next_short, short_row, result.short_sample);
    }
    if (long_group >= 0) {
      add(groups[static_cast<std::size_t>(long_group)].measured,
          continued_row(row, 0, static_cast<double>(row.size()), 1));
      add_sampled(sampled, next_long, row, result.sample);
    }
  });
  for (LongerRowGroup& group : groups) {
    divide(group.measured, group.long_rows);
    group.variance /= static_cast<double>(group.short_rows);
    for (RowWeights& one : group.predicted) divide(one, group.short_rows);
  }
  return result;
}

/// A quantity of a row at an inverse temperature. A needle is one more score, `gap` above the mean of the row.
inline double held_in_row(Held held, std::span<const double> row, double inverse_temperature, double gap) {
  const auto n = static_cast<double>(row.size());
  const RowWeights weights = continued_row(row, 0, n, inverse_temperature);
  if (held == Held::entropy) return weights.entropy;
  if (held == Held::largest_weight) return weights.largest_weight;
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / n;
  const double above = *std::max_element(row.begin(), row.end()) - mean - gap;
  return 1 / (1 + std::exp(inverse_temperature * above) / weights.largest_weight);
}

/// The means, over the short rows at 1 and over the long rows at an inverse temperature, of each group that judges.
struct HeldMeans {
  std::vector<double> shorter, longer;
};

inline HeldMeans held_means(std::span<const ScoreArray> prompts, const MeasurementOptions& options,
                            const LongerRowGroups& read, Held held, double inverse_temperature) {
  HeldMeans means{std::vector<double>(read.groups.size() / 2), std::vector<double>(read.groups.size() / 2)};
  visit_planned(prompts, options, read.plan, [&](std::span<double> row, std::int64_t shorter, std::int64_t longer) {
    const auto add_to = [&](std::vector<double>& sums, std::int64_t group, std::int64_t rows, auto used, double beta) {
      sums[static_cast<std::size_t>(group / 2)] +=
          held_in_row(held, used, beta, options.needle_gap) / static_cast<double>(rows);
    };
    const auto& groups = read.groups;
    if (shorter >= 0 && !chooses(shorter)) {
      const std::int64_t rows = groups[static_cast<std::size_t>(shorter)].short_rows;
      add_to(means.shorter, shorter, rows, short_row_of(read.plan, row), 1);
    }
    if (longer >= 0 && !chooses(longer)) {
      const std::int64_t rows = groups[static_cast<std::size_t>(longer)].long_rows;
      add_to(means.longer, longer, rows, std::span<const double>(row), inverse_temperature);
    }
  });
  return means;
}

}  // namespace incontext::calibration::detail
