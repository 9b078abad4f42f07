#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "incontext/calibration/continued_row.hpp"
#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/temperature_rules.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/numerics/solve.hpp"

/// The inverse temperatures that hold a quantity in longer rows, by the rule that predicts a head's longer rows.
namespace incontext::calibration {

/// The ways in which longer rows are predicted; of own_scores there is one for each number of needles.
enum class LongerRowLaw { normal_scores, own_scores, unchanged_weights };

namespace detail {

/// The mean entropy or largest weight of sampled rows that become `length` long.
inline double continued_mean(const std::vector<std::vector<double>>& sample, std::int64_t needles, Held held,
                             std::int64_t length, double inverse_temperature) {
  double mean = 0;
  for (const auto& row : sample) {
    const auto weights = continued_row(row, needles, static_cast<double>(length), inverse_temperature);
    mean += (held == Held::entropy ? weights.entropy : weights.largest_weight) / static_cast<double>(sample.size());
  }
  return mean;
}

}  // namespace detail

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
/// Errors    as numerics::root_between.
/// Accuracy  1e-9 in the quantity: tests/calibration/advice.cpp.
inline double own_scores_temperature(const std::vector<std::vector<double>>& sample, std::int64_t needles, Held held,
                                     std::int64_t length, double target) {
  const auto excess = [&](double log_beta) {
    const double mean = detail::continued_mean(sample, needles, held, length, std::exp(log_beta));
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

/// The inverse temperatures that hold a quantity at the value that it has in rows of the first length at 1, by the law
/// of normal scores or by a head's own scores; NaN, with the reason, where none does.
///
/// \f[ \beta_i:\quad Q(n_i, \beta_i) = Q(n_1, 1) \f]
///
/// Source    temperature_rules for the law of normal scores, own_scores_temperature for own scores.
/// Shapes    sample: R rows, each in descending order; lengths: m -> m inverse temperatures
/// Units     normal of the scores, inverse temperatures in one over those.
/// Domain    law is not unchanged_weights; lengths >= 2, ascending; for own scores, a sample, and not the needle's
///           weight.
/// Limits    the first length: 1.
/// Errors    std::invalid_argument outside the domain of laws and quantities; as holding_temperature.
/// Accuracy  as its parts: tests/calibration/advice.cpp.
inline TemperatureRule longer_row_temperatures(LongerRowLaw law, std::int64_t needles,
                                               const std::vector<std::vector<double>>& sample,
                                               const HeadScores<double>& normal, Held held,
                                               const std::vector<std::int64_t>& lengths) {
  constexpr auto where = "calibration::longer_row_temperatures";
  if (law == LongerRowLaw::normal_scores) {
    const double target = held_value<double>(held, normal, lengths.front(), 1.0);
    return detail::exact_rule(held, normal, lengths, target);
  }
  if (law != LongerRowLaw::own_scores) {
    throw_invalid_argument(where, "law has no inverse temperatures", "unchanged_weights",
                           "normal_scores or own_scores");
  }
  if (held == Held::needle_weight) {
    throw_invalid_argument(where, "held is not known by own scores", held_name(held), "the entropy or largest weight");
  }
  if (sample.empty()) throw_invalid_argument(where, "sample has no rows", 0, "1 or more");
  const double target = detail::continued_mean(sample, needles, held, lengths.front(), 1);
  TemperatureRule rule{.name = "own scores", .inverse_temperature = {}, .value = {}};
  for (const std::int64_t length : lengths) {
    rule.inverse_temperature.push_back(own_scores_temperature(sample, needles, held, length, target));
    if (!(rule.inverse_temperature.back() > 0) && rule.reason.empty()) {
      rule.reason = "no inverse temperature from 1 to 1024 attains it in rows of " + std::to_string(length) + " scores";
    }
  }
  return rule;
}

}  // namespace incontext::calibration
