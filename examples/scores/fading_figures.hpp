#pragma once

#include <incontext/core/contracts.hpp>
#include <incontext/laws/fading.hpp>
#include <incontext/laws/fading_grid.hpp>
#include <incontext/laws/fading_thresholds.hpp>

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/scores/figures.hpp"

/// Figures about attention that fades, or does not, as rows get longer. The rows are built, the maps applied to all
/// their scores, and the weights compared with the closed forms of incontext/laws.
namespace incontext::examples::scores {

namespace detail {

inline constexpr std::int64_t longest_row = 10000000;

/// Checks, on the rows to both sides, the length at which one map overtakes the other or falls below one half.
inline void claim_thresholds(Claims& claims, double gap, double s) {
  const ScoreMap softmax = score_map(scoring::Softmax<double>{}), ssmax = score_map(scoring::SSMax<double>{s});
  const auto weight = [gap](const ScoreMap& map, std::int64_t n) { return map.weights(spike(n, gap)).back(); };
  const auto at = [](std::int64_t n) { return "n = " + std::to_string(n); };
  const double half = laws::two_level_count(gap), crossover = laws::ssmax_crossover_count(s);
  if (half < longest_row) {
    const auto n = static_cast<std::int64_t>(half);
    claims.at_least("softmax keeps half up to n = 1 + e^gap", at(n), weight(softmax, n), 0.5);
    claims.at_most("softmax keeps less from there on", at(n + 1), weight(softmax, n + 1), 0.5);
    claims.differs("control: softmax gives it all of the weight", at(n + 1), weight(softmax, n + 1), 1);
  }
  if (crossover >= 2 && crossover < longest_row) {
    const auto n = static_cast<std::int64_t>(crossover);
    claims.at_most("SSMax no sharper up to n = e^(1/s)", at(n), weight(ssmax, n), weight(softmax, n));
    claims.at_least("SSMax sharper from there on", at(n + 1), weight(ssmax, n + 1), weight(softmax, n + 1));
  }
}

/// What determines SSA's weight of the one score: the gap, the logarithm of the ratio of its weight to another's,
/// and the exponent.
struct TwoLevels {
  double gap, contrast, exponent;
};

/// Wrong formulas for `odds`, SSA's weight of all others over that of the one score, where they are clearly wrong.
inline void try_wrong_ssa(Claims& claims, const std::string& at, double odds, double count, const TwoLevels& levels) {
  constexpr double clear = 0.01;
  const double others = count - 1, lower = levels.contrast * (1 - 1 / levels.exponent);
  if (!std::isnormal(odds)) return;
  if (std::abs(levels.gap - levels.contrast) > clear) {
    claims.differs("control: SSA's odds are softmax's", at, odds, others * std::exp(-levels.gap));
  }
  if (std::abs(levels.contrast - lower) > clear) {
    claims.differs("control: SSA's exponent is k - 1", at, odds, others * std::exp(-lower));
  }
}

}  // namespace detail

inline std::vector<Table> ssmax_fading_figure(const ScoresOptions& o, Claims& claims) {
  const double gap = o.gap, s = o.parameters.s, critical = laws::ssmax_critical_gap(s);
  const ScoreMap softmax = score_map(scoring::Softmax<double>{}), ssmax = score_map(scoring::SSMax<double>{s});
  Table table{.title = "Weight of one score " + short_text(gap, 6) +
                       " above n - 1 equal ones, SSMax with s = " + short_text(s, 6),
              .columns = {{.name = "n"},
                          {.name = "softmax"},
                          {.name = "ssmax_inverse_temperature", .heading = "SSMax s log n"},
                          {.name = "ssmax", .heading = "SSMax"},
                          {.name = "ssmax_complement", .heading = "1 - SSMax"},
                          {.name = "ssa", .heading = "SSA"}}};
  // SSA depends on both levels: those of the figure, -2 and 3 at its gap of 5.
  const double low = -2, high = gap + low, base = o.parameters.base, exponent = o.parameters.exponent;
  const scoring::SSA<double> averaging{base, exponent};
  const ScoreMap ssa = score_map(averaging);
  const double contrast = exponent * (std::log1p(base * 2) + std::copysign(std::log1p(base * std::abs(high)), high));
  auto lengths = detail::lengths_or(o, {2, 3, 5, 10, 11, 100, 149, 150, 1000, 10000, 100000, 1000000});
  std::sort(lengths.begin(), lengths.end());
  double before = 1;
  for (const std::int64_t n : lengths) {
    const Numbers row = detail::spike(n, gap), scalable = ssmax.weights(row);
    const double count = static_cast<double>(n), beta = s * std::log(count), soft = softmax.weights(row).back();
    const double kept = scalable.back(), lost = (count - 1) * scalable.front();
    Numbers levels = row;
    for (double& score : levels) score += low;
    const double averaged = ssa.weights(levels).back();
    table.add_row({n, soft, beta, kept, lost, averaged});
    const std::string at = "n = " + std::to_string(n);
    claims.equal("SSA's weight in closed form", at, averaged, 1 / (1 + (count - 1) * std::exp(-contrast)));
    detail::try_wrong_ssa(claims, at, (count - 1) * ssa.weights(levels).front() / averaged, count,
                          {gap, contrast, exponent});
    if (contrast < gap) claims.at_most("SSA below softmax: it fades faster on equal scores", at, averaged, soft);
    const auto theory = laws::two_level_weights(count, beta * gap);
    claims.equal("softmax's weight in closed form", at, soft, laws::two_level_weights(count, gap).high);
    claims.equal("SSMax's weight in closed form", at, kept, theory.high);
    claims.equal("what SSMax gives to the others", at, lost, theory.complement);
    const double soft_odds = (count - 1) * softmax.weights(row).front() / soft;
    if (n < 500 && std::isnormal(lost)) {
      claims.differs("control: SSMax with n others, not n - 1", at, lost / kept, count * std::exp(-beta * gap));
    }
    if (n < 500 && std::isnormal(soft_odds)) {
      claims.differs("control: softmax with n others, not n - 1", at, soft_odds, count * std::exp(-gap));
    }
    if (s * gap > 1) {
      const double weakest = laws::ssmax_weakest_count(s, gap);
      claims.at_least("SSMax weakest at n = sg / (sg - 1)", at, kept,
                      laws::two_level_weights(weakest, s * std::log(weakest) * gap).high);
    } else {
      claims.at_most("SSMax fades: gap not above 1/s", at, kept, before);
    }
    before = kept;
  }
  detail::claim_thresholds(claims, gap, s);
  table.notes = {
      "Softmax keeps half of the weight up to n = 1 + e^gap = " + short_text(laws::two_level_count(gap), 6) + ".",
      "SSMax is sharper than softmax from n = e^(1/s) = " + short_text(laws::ssmax_crossover_count(s), 6) + " on.",
      "Critical gap 1/s = " + short_text(critical, 6) + ": at a gap of " + short_text(gap, 6) +
          " SSMax's weight tends to " + short_text(laws::ssmax_two_level_limit(s, gap), 6) + ".",
      "SSA, b = " + short_text(base, 6) + ", k = " + short_text(exponent, 6) + ": the weight of a score of " +
          short_text(high, 6) + " among others of -2. It keeps half up to n = 1 + " +
          short_text(std::exp(contrast), 6) + "."};
  return {std::move(table)};
}

namespace detail {

/// Weight of a score z against n - 1 scores spread evenly over [0, 1].
inline double weight_above_grid(const ScoreMap& map, std::int64_t n, double z) {
  Numbers row;
  for (std::int64_t k = 0; k <= n - 2; ++k) row.push_back(static_cast<double>(k) / static_cast<double>(n - 2));
  row.push_back(z);
  return map.weights(row).back();
}

inline Table grid_table(const std::string& title, const std::string& name, const ScoreMap& map,
                        const std::vector<std::int64_t>& lengths) {
  Table table{.title = title, .columns = {{.name = "score", .heading = "z", .style = Style::shortest}}};
  for (const std::int64_t n : lengths) {
    const std::string count = std::to_string(n);
    table.columns.push_back({.name = name + count, .heading = "n = " + count, .decimals_as = 1});
  }
  for (const double z : {1., 1.5, 2., 2.5, 3., 3.5, 4., 5., 6., 8., 10., 12.}) {
    std::vector<Cell> cells(1, z);
    for (const std::int64_t n : lengths) cells.push_back(weight_above_grid(map, n, z));
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace detail

inline std::vector<Table> ssmax_threshold_figure(const ScoresOptions& o, Claims& claims) {
  const double s = o.parameters.s;
  const auto lengths = detail::lengths_or(o, {10, 100, 1000, 10000});
  for (const std::int64_t n : lengths) {
    if (n < 3) throw_input_error("--lengths", "is too small", n, "at least 3 in --figure ssmax-threshold");
  }
  const ScoreMap softmax = score_map(scoring::Softmax<double>{}), ssmax = score_map(scoring::SSMax<double>{s});
  const std::string against = " of one score z against n - 1 scores spread evenly over [0, 1]";
  Table thresholds{.title = "The score z* that takes half of the weight",
                   .columns = {{"n"},
                               {.name = "softmax"},
                               {.name = "ssmax", .heading = "SSMax"},
                               {.name = "ssmax_asymptotic", .heading = "SSMax, long rows"},
                               {.name = "ssmax_width", .heading = "SSMax 10% to 90%"}}};
  for (const std::int64_t n : lengths) {
    const double count = static_cast<double>(n), beta = s * std::log(count);
    const double z_soft = laws::grid_threshold(count, 1.0), z_ssmax = laws::grid_threshold(count, beta);
    const double width = laws::logistic_width(beta);
    thresholds.add_row(
        {n, z_soft, z_ssmax, laws::ssmax_bounded_threshold(count, s, laws::BoundedScores<double>{1}), width});
    const std::string at = "n = " + std::to_string(n);
    const auto soft = [&](double z) { return detail::weight_above_grid(softmax, n, z); };
    const auto scalable = [&](double z) { return detail::weight_above_grid(ssmax, n, z); };
    claims.equal("softmax at its z* gives one half", at, soft(z_soft), 0.5);
    claims.equal("SSMax at its z* gives one half", at, scalable(z_ssmax), 0.5);
    claims.equal("SSMax half a width above gives 90%", at, scalable(z_ssmax + width / 2), 0.9);
    claims.differs("control: softmax' z* as if the grid were its mean", at, soft(0.5 + std::log(count - 1)), 0.5);
    claims.differs("control: SSMax' z* of endless rows", at, scalable(1 + 1 / s), 0.5);
    claims.equal("softmax at z = 4 in closed form", at, soft(4), laws::grid_weight(count, 1.0, 4.0));
    claims.equal("SSMax at z = 4 in closed form", at, scalable(4), laws::grid_weight(count, beta, 4.0));
  }
  thresholds.notes.push_back("Softmax's threshold grows like log n; SSMax's tends to 1 + 1/s = " +
                             short_text(1 + laws::ssmax_critical_gap(s), 6) + ", with a lag of log log n / log n.");
  return {detail::grid_table("Softmax weight" + against, "softmax_", softmax, lengths),
          detail::grid_table("SSMax weight" + against + ", s = " + short_text(s, 6), "ssmax_", ssmax, lengths),
          std::move(thresholds)};
}

namespace detail {

struct NamedMap {
  std::string name, heading;
  ScoreMap map;
};

inline std::vector<NamedMap> deviant_maps(const MapParameters& p) {
  const double never_capped = 1e300;
  return {{"softmax", "softmax", score_map(scoring::Softmax<double>{})},
          {"ssmax", "SSMax", score_map(scoring::SSMax<double>{p.s, p.bias})},
          {"ssa", "SSA", score_map(scoring::SSA<double>{p.base, p.exponent})},
          {"normsoftmax", "NormSoftmax", score_map(scoring::NormSoftmax<double>{never_capped})},
          {"entmax", "entmax", score_map(scoring::Entmax<double>{p.alpha})},
          {"linear", "linear", score_map(scoring::LinearAttention<double>{})}};
}

/// Bounds on the weight of the deviant score that follow from the highest and the lowest of the other scores; `weights`
/// is in the order of deviant_maps.
inline void claim_deviant_bounds(Claims& claims, const MapParameters& p, const Numbers& row, const Numbers& weights) {
  const auto n = static_cast<std::int64_t>(row.size());
  const double count = static_cast<double>(n), score = row.back(), highest = row[row.size() - 2], lowest = row.front();
  const std::string at = "n = " + std::to_string(n) + ", score " + short_text(score, 6);
  claims.at_most("NormSoftmax below its bound", at, weights[3], scoring::normsoftmax_largest_weight(n));
  if (score - highest >= laws::entmax_one_hot_gap(p.alpha)) {
    claims.equal("entmax one-hot from its gap on", at, weights[4], 1);
  }
  if (score < highest || score > 10) return;  // above that every weight is nearly 1
  const double beta = p.s * std::log(count), gap = score - highest, range = score - lowest;
  claims.at_least("softmax above the gap's bound", at, weights[0], laws::largest_weight_lower_bound(count, gap));
  if (score < 6 && n > 2) {
    claims.differs("control: softmax as if all others were the highest", at, weights[0],
                   laws::largest_weight_lower_bound(count, gap));
  }
  claims.at_most("softmax below the range's bound", at, weights[0], laws::largest_weight_upper_bound(count, range));
  claims.at_least("SSMax above the gap's bound", at, weights[1], laws::largest_weight_lower_bound(count, beta * gap));
  claims.at_most("SSMax below the range's bound", at, weights[1],
                 laws::largest_weight_upper_bound(count, beta * range));
}

/// SSA's weight of the deviant score by its definition and between bounds; `weights` is in the order of deviant_maps.
inline void claim_deviant_ssa(Claims& claims, const MapParameters& p, const Numbers& row, const Numbers& weights) {
  const double count = static_cast<double>(row.size()), score = row.back(), highest = row[row.size() - 2];
  const std::string at = "n = " + std::to_string(row.size()) + ", score " + short_text(score, 6);
  const auto power = [&p](double z) { return std::pow(1 + p.base * std::abs(z), z < 0 ? -p.exponent : p.exponent); };
  double sum = 0;
  for (const double z : row) sum += power(z);
  if (!std::isfinite(sum)) return;
  claims.equal("SSA's weight by its definition", at, weights[2], power(score) / sum);
  if (score < highest) return;
  const auto contrast = [&](double other) { return std::log(power(score) / power(other)); };
  const double bound = laws::largest_weight_lower_bound(count, contrast(highest));
  claims.at_least("SSA above the bound of the highest other", at, weights[2], bound);
  claims.at_most("SSA below the bound of the lowest other", at, weights[2],
                 laws::largest_weight_upper_bound(count, contrast(row.front())));
  if (count < 4) return;
  if (std::abs(bound / weights[2] - 1) > 0.01) {
    claims.differs("control: SSA as if all others were the highest", at, weights[2], bound);
  }
  if (score >= 2 && std::abs(weights[0] / weights[2] - 1) > 0.01) {
    claims.differs("control: SSA's weight of the deviant is softmax's", at, weights[2], weights[0]);
  }
}

}  // namespace detail

inline std::vector<Table> deviant_figure(const ScoresOptions& o, Claims& claims) {
  const MapParameters& p = o.parameters;
  const auto maps = detail::deviant_maps(p);
  Table table{.title = "Weight of one deviant token among n - 1 normal scores",
              .columns = {{"n"}, {.name = "score", .heading = "its score", .style = Style::shortest}}};
  for (const auto& one : maps) table.columns.push_back({.name = one.name, .heading = one.heading, .decimals_as = 1});
  const boost::math::normal law;
  for (const std::int64_t n : detail::lengths_or(o, {10, 40, 200, 1000})) {
    Numbers row;
    const double others = static_cast<double>(n - 1);
    for (std::int64_t k = 1; k < n; ++k) {
      row.push_back(boost::math::quantile(law, (static_cast<double>(k) - 0.5) / others));
    }
    row.push_back(0);
    for (const double score : {1., 2., 3., 5., 10., 30., 100.}) {
      row.back() = score;
      Numbers weights;
      for (const auto& one : maps) weights.push_back(one.map.weights(row).back());
      std::vector<Cell> cells(1, n);
      cells.emplace_back(score);
      cells.insert(cells.end(), weights.begin(), weights.end());
      table.add_row(std::move(cells));
      detail::claim_deviant_bounds(claims, p, row, weights);
      detail::claim_deviant_ssa(claims, p, row, weights);
    }
  }
  table.notes = {"The others are the quantiles of N(0, 1). SSMax: s = " + short_text(p.s, 6) +
                     "; SSA: b = " + short_text(p.base, 6) + ", k = " + short_text(p.exponent, 6) +
                     "; entmax: alpha = " + short_text(p.alpha, 6) + "; linear: z / n, not normalized.",
                 "Softmax gives way to one deviant token at a few units, SSA later; entmax is one-hot from a gap of "
                 "1/(alpha - 1) = " +
                     short_text(laws::entmax_one_hot_gap(p.alpha), 6) + " on."};
  return {std::move(table)};
}

}  // namespace incontext::examples::scores
