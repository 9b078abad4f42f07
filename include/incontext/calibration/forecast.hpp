#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "incontext/calibration/detail/length_groups.hpp"
#include "incontext/calibration/detail/longer_row_groups.hpp"
#include "incontext/calibration/detail/parallel_tasks.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/score_array.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/statistics/confidence_interval.hpp"
#include "incontext/statistics/estimate.hpp"

/// What a head does in longer prompts, from how it changes with the length of shorter ones.
namespace incontext::calibration {

/// A quantity in rows of a length that was not used to predict it.
///
/// Units     of the quantity.
struct ForecastQuantity {
  double value;
  double low;
  double high;
  double measured = std::numeric_limits<double>::quiet_NaN();  ///< NaN where no rows have the length
  bool covered = false;                                        ///< low <= measured <= high
};

/// How much an interval is wider on either side for each doubling of the length, also where nothing changes.
///
/// Source    chosen on Python's language reference, judged on NumPy's docstrings:
///           docs/theory/calibration.md#longer-prompts.
/// Units     nats of an entropy, relative to a number of keys.
inline constexpr double drift_margin = 0.05;

/// Extrapolates a quantity to longer rows, from rows of two lengths: it goes on to change by something between nothing
/// and, for each doubling, as much as it did between the two.
///
/// \f[ q = q_2 + \tfrac12 s o,\qquad q_\pm\text{: the ends of } [q_2 \pm t_2\, e_2] \cup [q_2 + s\, o \pm t\, e],
///     \text{ and } m\,o \text{ more},\qquad s = \frac{q_2 - q_1}{b},\quad
///     e^2 = (1 + o/b)^2 e_2^2 + (o/b)^2 e_1^2 \f]
///
/// b is doublings_between the two lengths, o is doublings_ahead of the longer one, m is drift_margin, t_2 and t are
/// Student's 97.5% quantiles for the number of longer values and for the smaller of the two numbers. The errors e_1 and
/// e_2 count as independent, which makes those of one text's first halves and wholes too large.
///
///     statistics::Estimate shorter, longer;
///     shorter.mean = 1.0, longer.mean = 1.2;
///     shorter.standard_error = longer.standard_error = 0.01;
///     shorter.count = longer.count = 30;
///     const auto loss = calibration::extrapolated_drift(shorter, longer, 1, 3);   // 1.5, from 1.03 to 2.05
///
/// Source    a rule of this library, chosen and not derived: docs/theory/calibration.md#longer-prompts.
/// Units     of the quantity, a logarithm: nats.
/// Domain    doublings_between > 0, doublings_ahead >= 0.
/// Limits    doublings_ahead = 0: the 95% confidence interval of the longer rows' value, by the smaller number.
/// Errors    std::domain_error outside the domain; an interval without bounds from fewer than two values.
/// Accuracy  rounding: tests/calibration/forecast.cpp. A change that grows with each doubling is not covered.
inline ForecastQuantity extrapolated_drift(const statistics::Estimate& shorter, const statistics::Estimate& longer,
                                           double doublings_between, double doublings_ahead) {
  constexpr auto where = "calibration::extrapolated_drift";
  require_positive(where, "doublings_between", doublings_between);
  require_non_negative(where, "doublings_ahead", doublings_ahead);
  const double steps = doublings_ahead / doublings_between, change = steps * (longer.mean - shorter.mean);
  statistics::Estimate drifted = longer;
  drifted.mean += change;
  drifted.standard_error = std::hypot((1 + steps) * longer.standard_error, steps * shorter.standard_error);
  drifted.count = (std::min)(shorter.count, longer.count);
  ForecastQuantity forecast{.value = longer.mean + change / 2,
                            .low = -std::numeric_limits<double>::infinity(),
                            .high = std::numeric_limits<double>::infinity()};
  if (drifted.count < 2) return forecast;
  const auto unchanged = statistics::confidence_interval(longer, 0.95),
             changed = statistics::confidence_interval(drifted, 0.95);
  const double margin = drift_margin * doublings_ahead;
  forecast.low = (std::min)(unchanged.lower, changed.lower) - margin;
  forecast.high = (std::max)(unchanged.upper, changed.upper) + margin;
  return forecast;
}

/// A head in rows longer than those that it is predicted from.
///
/// Units     lengths in keys, entropy in nats, inverse_temperature in one over those of the scores.
struct HeadForecast {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  double row_length = 0;              ///< that the forecast is about
  double shorter = 0;                 ///< geometric mean of the lengths of the shorter octave's rows
  double longer = 0;                  ///< the same of the longer octave, whose entropy the inverse temperature holds
  ForecastQuantity entropy = {};      ///< of the weights
  ForecastQuantity keys_for_95 = {};  ///< of the highest ones, whose share of the keys has 95% of the weight on average
  ForecastQuantity inverse_temperature = {};  ///< at which it has the entropy that the longer rows have at 1
};

namespace detail {

/// The first inverse temperature at which the deficit is as large as needed: 0 below the first that is measured,
/// infinity above the last.
inline double holding_inverse_temperature(const std::array<double, inverse_temperatures>& deficit, double needed) {
  if (!(deficit[0] < needed)) return 0;
  for (std::size_t i = 1; i < inverse_temperatures; ++i) {
    if (deficit[i] < needed) continue;
    const double part = (needed - deficit[i - 1]) / (deficit[i] - deficit[i - 1]);
    return std::exp2((static_cast<double>(i - 1) + part) / static_cast<double>(steps_per_octave) - 2);
  }
  return std::numeric_limits<double>::infinity();
}

/// A forecast of one head, whose arrays are of this head alone.
inline HeadForecast forecast_head(std::span<const ScoreArray> prompts, const MeasurementOptions& options,
                                  std::int64_t row_length, std::int64_t up_to, const std::string& which) {
  constexpr auto where = "calibration::forecast_heads";
  const LengthClasses classes{(std::min)(up_to, row_length - row_length / 8), row_length};
  std::vector<std::map<int, std::int64_t>> counts(prompts.size());
  std::map<int, std::int64_t> groups;  // that have such rows
  std::size_t shortest = (std::numeric_limits<std::size_t>::max)(), longest = 0;
  visit_rows(prompts, options, [&](std::size_t p, std::span<double> row) {
    shortest = (std::min)(shortest, row.size());
    longest = (std::max)(longest, row.size());
    const int one = classes.of(row.size());
    groups[one] += counts[p][one]++ == 0 || prompts.size() == 1;
  });
  std::vector<int> wanted;  // the two longest octaves with two groups
  for (auto at = groups.rbegin(); at != groups.rend() && at->first >= 0 && wanted.size() < 2; ++at) {
    if (at->second > 1) wanted.push_back(at->first);
  }
  if (wanted.size() < 2) {
    throw_domain_error(where,
                       which + ": too few octaves of rows that two prompts have, of at most " +
                           std::to_string(classes.longest_used) +
                           " keys (up_to, and 7/8 of row_length = " + std::to_string(row_length) + ")",
                       wanted.size(),
                       "2, such as those of prompts of 32 and of 64 tokens; the rows here have " +
                           std::to_string(shortest) + " to " + std::to_string(longest) + " keys");
  }
  wanted.push_back(LengthClasses::ahead);
  const auto read = length_groups(prompts, options, classes, counts, wanted);
  const LengthGroups &longer = read.at(wanted[0]), &shorter = read.at(wanted[1]);
  const auto ahead = read.find(LengthClasses::ahead);
  const double log_longer = mean_log_length(longer), log_shorter = mean_log_length(shorter);
  const double log_length =
      ahead == read.end() ? std::log(static_cast<double>(row_length)) : mean_log_length(ahead->second);
  const auto extrapolated = [&](const auto& value) {
    return extrapolated_drift(estimate_of(shorter, value), estimate_of(longer, value),
                              (log_longer - log_shorter) / std::log(2), (log_length - log_longer) / std::log(2));
  };
  std::array<double, inverse_temperatures> deficit{}, least{}, most{}, measured{};
  for (std::size_t i = 0; i < inverse_temperatures; ++i) {
    const auto value = [i](const LengthGroup& group) { return group.deficit[i]; };
    const ForecastQuantity at = extrapolated(value);
    deficit[i] = at.value;
    least[i] = at.low;
    most[i] = at.high;
    if (ahead != read.end()) measured[i] = estimate_of(ahead->second, value).mean;
  }
  const auto share = [](const LengthGroup& group) { return group.log_share(); };
  const ForecastQuantity log_share = extrapolated(share);
  HeadForecast result{.row_length = ahead == read.end() ? static_cast<double>(row_length) : mean_length(ahead->second),
                      .shorter = mean_length(shorter),
                      .longer = mean_length(longer)};
  const auto entropy_of = [&](double lost) { return (std::clamp)(log_length - lost, 0.0, log_length); };
  const auto keys_of = [&](double lost) { return std::exp((std::clamp)(log_length - lost, 0.0, log_length)); };
  const double held =
      log_longer - estimate_of(longer, [](const LengthGroup& group) { return group.deficit[index_of_one]; }).mean;
  constexpr double rounding = 1e-12;  // of the means, which are not summed in one order
  const auto holding = [&](const auto& lost) {
    return holding_inverse_temperature(lost, log_length - held - rounding);
  };
  result.entropy = {entropy_of(deficit[index_of_one]), entropy_of(most[index_of_one]), entropy_of(least[index_of_one])};
  result.keys_for_95 = {keys_of(log_share.value), keys_of(log_share.high), keys_of(log_share.low)};
  result.inverse_temperature = {holding(deficit), holding(most), holding(least)};
  if (ahead != read.end()) {
    result.entropy.measured = entropy_of(measured[index_of_one]);
    result.keys_for_95.measured = keys_of(estimate_of(ahead->second, share).mean);
    result.inverse_temperature.measured = holding(measured);
    for (ForecastQuantity* one : {&result.entropy, &result.keys_for_95, &result.inverse_temperature}) {
      one->covered = one->low <= one->measured && one->measured <= one->high;
    }
  }
  return result;
}

}  // namespace detail

/// What every head does in rows of `row_length` keys, from how it changes between the two longest octaves of shorter
/// rows, of at most `up_to` keys and 7/8 of row_length. An octave has the lengths from above a power of 2 to the next
/// one.
///
/// Give prompts of several lengths, such as texts of which the first 32 and the first 64 tokens are a prompt each: in
/// an encoder a row is as long as its prompt, so that its scores change with the prompt. A causal head has rows of all
/// lengths in one prompt. A length is a number of visible keys: a head with a sliding window has no longer rows, and
/// its forecast means nothing. Extrapolated are log n - H of the entropy H, at 25 inverse temperatures from 1/4 to 16,
/// and log(n / k), k / n the share of a row's highest keys that has 95% of the weight on average.
///
/// Let the lengths differ by about a factor of two: 64 and 65 are two octaves, too, and their change, which is mostly
/// chance, is continued as far.
///
/// Rows of more than 7/8 of row_length, if there are any, judge the forecast, which is then about their mean length:
/// let them be of other texts. At most 64 rows of an octave are read in each prompt. Errors are those between prompts,
/// or between eight parts of the rows of the only one; from two prompts of a length the intervals are very wide.
///
///     const std::vector<double> scores(64 * 64, 0.5);   // equal scores, which a causal mask makes rows of 1 to 64
///     const auto prompt = calibration::dense_scores(scores.data(), calibration::NumberType::float64,
///                                                   std::vector<std::int64_t>{64, 64});
///     const auto heads = calibration::forecast_heads(std::span(&prompt, 1), {.causal = true}, 512);
///
/// Source    a rule of this library, chosen and not derived: docs/theory/calibration.md#longer-prompts.
/// Shapes    of each prompt: layers x heads x queries x keys -> layers * heads forecasts
/// Units     as HeadForecast.
/// Domain    scores that measure_heads accepts, which are not checked again here: a NaN is left out, +infinity makes
///           NaN; 8 <= row_length <= 1e15; 0 <= up_to <= 1e15, 0: no other bound.
/// Limits    an inverse temperature below 1/4 is 0, and one above 16 is infinity.
/// Errors    as measure_heads for shapes; std::invalid_argument for lengths outside the domain; std::domain_error where
///           two octaves of shorter rows, each from two prompts or more, are not there.
/// Accuracy  the interval is no law. From texts of 64 tokens it covers the entropy of 97% of MiniLM's 72 heads at 512,
///           and the keys of 99%, in texts that it was not chosen on: notebooks/pretrained_heads.ipynb. Drawn heads:
///           tests/calibration/forecast.cpp.
inline std::vector<HeadForecast> forecast_heads(std::span<const ScoreArray> prompts, const MeasurementOptions& options,
                                                std::int64_t row_length, std::int64_t up_to = 0) {
  constexpr auto where = "calibration::forecast_heads";
  detail::require_prompts(where, prompts, options);
  require_at_least(where, "row_length", row_length, std::int64_t{8});
  require_at_least(where, "up_to", up_to, std::int64_t{0});
  for (const auto& [name, length] : {std::pair("row_length", row_length), {"up_to", up_to}}) {
    constexpr std::int64_t largest = 1'000'000'000'000'000;
    if (length > largest) throw_invalid_argument(where, std::string(name) + " is too large", length, "at most 1e15");
  }
  const ScoreArray& first = prompts.front();
  std::vector<HeadForecast> heads(static_cast<std::size_t>(first.layers() * first.heads()));
  detail::run_tasks(
      static_cast<std::int64_t>(heads.size()), options.threads,
      [&](std::int64_t task) {
        const std::int64_t layer = task / first.heads(), head = task % first.heads();
        const std::vector<ScoreArray> own = detail::one_head_of_each(prompts, layer, head);
        HeadForecast found = detail::forecast_head(own, options, row_length, up_to > 0 ? up_to : row_length,
                                                   "layer " + std::to_string(layer) + ", head " + std::to_string(head));
        found.layer = layer;
        found.head = head;
        heads[static_cast<std::size_t>(task)] = found;
      },
      options.progress);
  return heads;
}

}  // namespace incontext::calibration
