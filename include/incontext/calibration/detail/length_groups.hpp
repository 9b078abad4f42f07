#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "incontext/calibration/batch_means.hpp"
#include "incontext/calibration/detail/longer_row_groups.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/row_statistics.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/core/elementary.hpp"
#include "incontext/statistics/estimate.hpp"

/// What the rows of a head have at each length: their entropy at many inverse temperatures, and the weight of their
/// highest keys.
namespace incontext::calibration::detail {

/// Inverse temperatures at which entropies are measured: 1/4 to 16, four per octave.
inline constexpr std::size_t steps_per_octave = 4, inverse_temperatures = 25;
inline double inverse_temperature_at(std::size_t i) {
  return std::exp2(static_cast<double>(i) / static_cast<double>(steps_per_octave) - 2);
}
inline constexpr std::size_t index_of_one = 8;

/// The rows of one octave in one group: a prompt, or successive rows of the only prompt.
///
/// The deficit is log n - H at every inverse temperature.
struct LengthGroup {
  std::int64_t rows = 0;
  std::int64_t shortest = (std::numeric_limits<std::int64_t>::max)(), longest = 0;
  double log_length = 0;
  std::array<double, inverse_temperatures> deficit{};
  std::vector<double> kept = {};  ///< sums over rows of the weight that each share of the highest keys has

  static constexpr std::size_t ways = 8;  ///< sums side by side, which a processor adds at once

  /// Adds a row, whose scores it sorts.
  void add(std::span<double> row, std::vector<double>& weights) {
    const std::size_t n = row.size();
    std::sort(row.begin(), row.end(), std::greater<>());
    const double highest = row.front();
    for (double& score : row) score -= highest;
    ++rows;
    shortest = (std::min)(shortest, static_cast<std::int64_t>(n));
    longest = (std::max)(longest, static_cast<std::int64_t>(n));
    log_length += std::log(static_cast<double>(n));
    weights.resize(n);
    for (std::size_t step = 0; step < steps_per_octave; ++step) {
      for (std::size_t j = 0; j < n; ++j) weights[j] = elementary::exp(inverse_temperature_at(step) * row[j]);
      for (std::size_t i = step; i < inverse_temperatures; i += steps_per_octave) {
        double partition_function[ways] = {}, weighted_scores[ways] = {};
        for (std::size_t j = 0; j + ways <= n; j += ways) {
          for (std::size_t k = 0; k < ways; ++k) {
            partition_function[k] += weights[j + k];
            weighted_scores[k] += weights[j + k] * row[j + k];
          }
        }
        for (std::size_t j = n - n % ways; j < n; ++j) {
          partition_function[0] += weights[j];
          weighted_scores[0] += weights[j] * row[j];
        }
        const double total = std::accumulate(partition_function, partition_function + ways, 0.0);
        const double mean_score = std::accumulate(weighted_scores, weighted_scores + ways, 0.0) / total;
        deficit[i] += std::log(static_cast<double>(n) / total) + inverse_temperature_at(i) * mean_score;
        if (i == index_of_one) add_kept(weights, total);
        for (double& weight : weights) weight *= weight;  // of twice the inverse temperature
      }
    }
  }

  /// Adds the weight of each share of a row's highest keys; within a key it grows in proportion. Shares are 64 to a
  /// doubling, from a sixteenth of a key to all keys: rows of an octave have at most twice the keys of the first.
  void add_kept(const std::vector<double>& weights, double partition_function) {
    const auto n = static_cast<double>(weights.size());
    if (kept.empty()) kept.resize(1 + static_cast<std::size_t>(shares_per_doubling * std::log2(32 * n)));
    const double step = std::exp2(1.0 / shares_per_doubling);
    double place = n * share_at(0);
    double whole = 0;  // the weight of the `keys` highest keys
    std::size_t keys = 0;
    for (std::size_t j = 0; j < kept.size(); ++j, place *= step) {
      while (keys < weights.size() && static_cast<double>(keys + 1) <= place) whole += weights[keys++];
      const double part = keys < weights.size() ? (place - static_cast<double>(keys)) * weights[keys] : 0;
      kept[j] += (whole + part) / partition_function;
    }
  }

  void finish() {
    for (double& one : deficit) one /= static_cast<double>(rows);
    log_length /= static_cast<double>(rows);
  }

  /// log(n / k), with k / n the share of the keys that keeps 95% on average.
  double log_share() const {
    const double wanted = 0.95 * static_cast<double>(rows);
    const auto first = std::lower_bound(kept.begin(), kept.end(), wanted);
    if (first == kept.end()) return 0;
    const auto j = static_cast<std::size_t>(first - kept.begin());
    const double before = j == 0 ? 0 : kept[j - 1], share_before = j == 0 ? 0 : share_at(j - 1);
    return -std::log(share_before + (share_at(j) - share_before) * (wanted - before) / (*first - before));
  }

 private:
  static constexpr int shares_per_doubling = 64;

  double share_at(std::size_t j) const {
    return std::exp2(-static_cast<double>(kept.size() - 1 - j) / shares_per_doubling);
  }
};

using LengthGroups = std::vector<LengthGroup>;

inline double mean_log_length(const LengthGroups& groups) {
  double mean = 0;
  for (const LengthGroup& group : groups) mean += group.log_length / static_cast<double>(groups.size());
  return mean;
}

/// The geometric mean of the lengths of the rows.
inline double mean_length(const LengthGroups& groups) {
  std::int64_t shortest = groups.front().shortest, longest = 0;
  for (const LengthGroup& group : groups) {
    shortest = (std::min)(shortest, group.shortest);
    longest = (std::max)(longest, group.longest);
  }
  return shortest == longest ? static_cast<double>(longest) : std::exp(mean_log_length(groups));
}

template <class Value>
statistics::Estimate estimate_of(const LengthGroups& groups, const Value& value) {
  std::vector<double> values(groups.size());
  std::transform(groups.begin(), groups.end(), values.begin(), value);
  return estimate_of(values);
}

/// Which rows a forecast uses: by the octave of their length, up to a longest one, and those of the length that it is
/// about, from 7/8 of it on.
struct LengthClasses {
  static constexpr int none = -1, ahead = -2;
  std::int64_t longest_used, row_length;

  int of(std::size_t keys) const {
    const auto n = static_cast<std::int64_t>(keys);
    if (n > row_length - row_length / 8 && n <= row_length) return ahead;
    return 2 <= n && n <= longest_used ? octave_of(n) : none;
  }
};

/// The rows of a head in the given classes of length, at most 64 of each in a prompt.
inline std::map<int, LengthGroups> length_groups(std::span<const ScoreArray> prompts, const MeasurementOptions& options,
                                                 const LengthClasses& classes,
                                                 const std::vector<std::map<int, std::int64_t>>& counts,
                                                 std::span<const int> wanted) {
  constexpr std::int64_t groups_of_one_prompt = 8;
  std::vector<std::map<int, std::vector<std::int64_t>>> sampled(prompts.size());
  std::vector<std::map<int, std::int64_t>> next(prompts.size()), taken(prompts.size());
  std::map<int, std::map<std::int64_t, LengthGroup>> found;
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    for (const int one : wanted) {
      if (const auto at = counts[p].find(one); at != counts[p].end()) sampled[p][one] = sampled_of(at->second);
    }
  }
  std::vector<double> weights;
  visit_rows(prompts, options, [&](std::size_t p, std::span<double> row) {
    const int one = classes.of(row.size());
    const auto rows = sampled[p].find(one);
    if (rows == sampled[p].end() || !std::binary_search(rows->second.begin(), rows->second.end(), next[p][one]++)) {
      return;
    }
    const std::int64_t place = taken[p][one]++;
    const auto group = prompts.size() > 1
                           ? static_cast<std::int64_t>(p)
                           : place * groups_of_one_prompt / static_cast<std::int64_t>(rows->second.size());
    found[one][group].add(row, weights);
  });
  std::map<int, LengthGroups> result;
  for (auto& [one, groups] : found) {
    for (auto& [number, group] : groups) {
      group.finish();
      result[one].push_back(std::move(group));
    }
  }
  return result;
}

}  // namespace incontext::calibration::detail
