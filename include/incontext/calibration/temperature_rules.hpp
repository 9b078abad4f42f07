#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/calibration/held_quantity.hpp"
#include "incontext/calibration/named_rules.hpp"
#include "incontext/laws/ssa_row.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// Rules for the inverse temperature of rows that are longer than in training, beside the exact solution.
namespace incontext::calibration {

/// A rule's inverse temperature at each of several lengths, and the value that the held quantity then has.
///
/// Units     inverse_temperature in one over those of the scores, NaN where there is none; value of the held quantity.
struct TemperatureRule {
  std::string name;
  std::vector<double> inverse_temperature;
  std::vector<double> value;
  std::vector<bool> attained = {};  ///< of the exact rule: whether it holds the quantity at that length
  std::string reason = {};          ///< why the inverse temperature is absent or 0 at some lengths; else empty
};

/// The straight line in log n that is nearest to inverse temperatures: SSMax with a bias.
///
/// \f[ (s, b) = \arg\min \sum_i (s \log n_i + b - \beta_i)^2 \f]
///
/// Source    arXiv 2501.19399, (s log n + b); least squares.
/// Shapes    lengths: m, inverse_temperatures: m
/// Units     scale and bias in one over those of the scores.
/// Domain    at least two different lengths, each at least 1; finite inverse temperatures.
/// Errors    std::invalid_argument for shapes and lengths, std::domain_error for inverse temperatures; parameters
///           NaN for lengths that are all the same.
/// Accuracy  1e-13: tests/calibration/temperature_rules.cpp.
inline scoring::SSMax<double> nearest_ssmax(const std::vector<std::int64_t>& lengths,
                                            const std::vector<double>& inverse_temperatures) {
  require_same_size("calibration::nearest_ssmax", "inverse_temperatures", inverse_temperatures.size(), lengths.size());
  require_at_least("calibration::nearest_ssmax", "the number of lengths", lengths.size(), std::size_t{2});
  const auto count = static_cast<double>(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    require_at_least("calibration::nearest_ssmax", "a length", lengths[i], std::int64_t{1});
    require_finite("calibration::nearest_ssmax", "an inverse temperature", inverse_temperatures[i]);
  }
  const auto first = static_cast<double>(lengths.front());
  const auto log_ratio = [&](std::size_t i) { return std::log(static_cast<double>(lengths[i]) / first); };
  double log_mean = 0, beta_mean = 0, product = 0, square = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    log_mean += log_ratio(i) / count;
    beta_mean += inverse_temperatures[i] / count;
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double off = log_ratio(i) - log_mean;
    product += off * (inverse_temperatures[i] - beta_mean);
    square += off * off;
  }
  return {product / square, beta_mean - product / square * (log_mean + std::log(first))};
}

/// NormSoftmax's inverse temperature for scores as softmax gets them: one over their standard deviation, capped at 1.
///
/// \f[ \beta = \frac{1}{\min(\sigma, 1)} \f]
///
/// Source    arXiv 2310.12956 eq. 2 with tau = 1; rows are taken as long, so that sigma is the deviation of each.
/// Domain    score_stddev > 0.
/// Limits    score_stddev >= 1: 1.
/// Accuracy  1 eps: tests/calibration/temperature_rules.cpp.
inline double normsoftmax_inverse_temperature(double score_stddev) { return 1 / (score_stddev < 1 ? score_stddev : 1); }

/// The SSA of the given base whose exponent k gives a needle the weight `target` in rows of `row_length` scores.
///
/// \f[ k:\quad E \frac{w(g)}{w(g) + \sum_{j < n} w(z_j)} = \mathrm{target},\qquad
///     w(z) = (1 + \mathrm{base}\, |z|)^{\mathrm{sgn}(z) k} \f]
///
/// Source    arXiv 2508.14685 eq. 5; laws/ssa_row.hpp solved for k by Boost.Math's TOMS 748.
/// Units     base in one over those of the scores; exponent NaN where none between 1 and 64 gives the weight.
/// Domain    1e-100 <= base <= 1e100, gap > 0, row_length >= 2, 0 < target < 1.
/// Limits    exponent NaN, too, where the search meets one at which the law's squared weights overflow.
/// Errors    std::invalid_argument for row_length; std::domain_error outside the domain, and as the law at exponent 1.
/// Accuracy  1e-9 in the weight: tests/calibration/temperature_rules.cpp.
inline scoring::SSA<double> nearest_ssa(double base, const HeadScores<double>& scores, std::int64_t row_length,
                                        double target) {
  constexpr auto where = "calibration::nearest_ssa";
  if (!(1e-100 <= base && base <= 1e100)) throw_domain_error(where, "base is out of range", base, "1e-100 to 1e100");
  require_positive(where, "gap", scores.gap);
  require_at_least(where, "row_length", row_length, std::int64_t{2});
  if (!(0 < target && target < 1)) throw_domain_error(where, "target is no weight", target, "0 < target < 1");
  const double variance = scores.score_stddev * scores.score_stddev;
  const auto excess = [&](double exponent) {
    const scoring::SSA<double> map{base, exponent};
    return laws::ssa_needle_weight<double>(map, row_length - 1, variance, scores.gap).value - target;
  };
  if (excess(1) > 0) return {base, std::numeric_limits<double>::quiet_NaN()};
  try {
    for (int octave = 0; octave < 6; ++octave) {
      const double low = std::ldexp(1.0, octave), high = 2 * low;
      if (excess(high) >= 0) return {base, numerics::root_between<double>(where, excess, low, high)};
    }
  } catch (const std::domain_error&) {  // the scores are too wide for so large an exponent
  }
  return {base, std::numeric_limits<double>::quiet_NaN()};
}

namespace detail {

/// The inverse temperatures that hold the quantity at `target`; NaN, with the reason, where there is none.
inline TemperatureRule exact_rule(Held held, const HeadScores<double>& scores, const std::vector<std::int64_t>& lengths,
                                  double target) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), rounding = 1e-9;
  TemperatureRule exact{.name = "exact", .inverse_temperature = {}, .value = {}};
  for (const std::int64_t n : lengths) {
    HeldTemperature<double> solved{nan, nan, false};
    std::string reason = "no inverse temperature attains it in rows of " + std::to_string(n) +
                         " scores or more; its value there is the highest that one reaches";
    const double equal_weight = 1 / static_cast<double>(n);
    if (held == Held::needle_weight && target <= equal_weight) {
      reason = "the needle's weight at inverse temperature 1, " + short_text(target, 3) + ", is not above " +
               short_text(equal_weight, 3) + ", which equal weights have in rows of " + std::to_string(n) + " scores";
    } else if (held == Held::entropy ? target <= rounding : 1 - rounding <= target) {
      reason = "at inverse temperature 1 one key has all of the weight, to rounding";
    } else if (held == Held::entropy ? std::log(static_cast<double>(n)) <= target : target <= equal_weight) {
      reason = "at inverse temperature 1 the weights are equal, to rounding";
    } else {
      solved = holding_temperature<double>(held, scores, n, target);
    }
    exact.inverse_temperature.push_back(solved.attained ? solved.inverse_temperature : nan);
    exact.value.push_back(solved.value);
    exact.attained.push_back(solved.attained);
    if (!solved.attained && exact.reason.empty()) exact.reason = reason;
  }
  return exact;
}

}  // namespace detail

/// The rules at the given lengths. The first length, n_0, is that of training: the quantity is held at the value that
/// it has there at inverse temperature 1.
///
/// The rules are: exact; 1 (unchanged); log n / log n_0; the SSMax that is nearest to the exact inverse temperatures at
/// the lengths where these hold the quantity, or NaN if these are fewer than two; YaRN; NormSoftmax; Llama 4 and
/// Mistral with the trained length n_0 in the place of theirs and their a = 0.1; and, for a needle, SSA of base 1 with
/// the exponent of nearest_ssa, which is the same at every length. log n / log n_0 is Qwen's rule, and LongRoPE's for
/// rows n / n_0 times as long.
///
/// Source    derived: docs/theory/calibration.md#holding-a-quantity; each rule's source is with its function.
/// Shapes    lengths: m, the shortest first -> 8 or 9 rules with m values each
/// Domain    lengths >= 2, ascending; scores in their domain.
/// Errors    std::domain_error, numerics::QuadratureError.
/// Accuracy  as holding_temperature and the laws: tests/calibration/temperature_rules.cpp.
inline std::vector<TemperatureRule> temperature_rules(Held held, const HeadScores<double>& scores,
                                                      const std::vector<std::int64_t>& lengths) {
  require_at_least("calibration::temperature_rules", "the number of lengths", lengths.size(), std::size_t{2});
  const double target = held_value<double>(held, scores, lengths.front(), 1.0);
  std::vector<TemperatureRule> rules{detail::exact_rule(held, scores, lengths, target)};
  std::vector<std::int64_t> attained_lengths;
  std::vector<double> attained_temperatures;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (!rules.front().attained[i]) continue;
    attained_lengths.push_back(lengths[i]);
    attained_temperatures.push_back(rules.front().inverse_temperature[i]);
  }
  const auto add = [&](const std::string& name, const auto& inverse_temperature) {
    TemperatureRule rule{.name = name, .inverse_temperature = {}, .value = {}};
    for (const std::int64_t n : lengths) {
      rule.inverse_temperature.push_back(inverse_temperature(static_cast<double>(n)));
      rule.value.push_back(held_value<double>(held, scores, n, rule.inverse_temperature.back()));
    }
    rules.push_back(rule);
  };
  const auto trained = static_cast<double>(lengths.front());
  add("unchanged", [](double) { return 1.0; });
  add("log n", [=](double n) { return qwen_inverse_temperature<double>(n, trained); });
  const auto add_absent = [&](const std::string& name, const std::string& reason) {
    const std::vector<double> none(lengths.size(), std::numeric_limits<double>::quiet_NaN());
    rules.push_back({.name = name, .inverse_temperature = none, .value = none, .attained = {}, .reason = reason});
  };
  if (attained_lengths.size() < 2) {
    add_absent("SSMax", "no line, because an inverse temperature holds the quantity at fewer than two lengths");
  } else {
    const auto ssmax = nearest_ssmax(attained_lengths, attained_temperatures);
    add("SSMax s = " + short_text(ssmax.scale, 4) + ", b = " + short_text(ssmax.bias, 4),
        [=](double n) { return std::fmax(ssmax.scale * std::log(n) + ssmax.bias, 0.0); });
    auto& betas = rules.back().inverse_temperature;
    const auto below = std::count(betas.begin(), betas.end(), 0.0);
    if (below > 0) {
      rules.back().reason = "the line is below 0 at " + std::to_string(below) + " of " + std::to_string(betas.size()) +
                            " lengths, where the inverse temperature is set to 0 and the weights are equal";
    }
  }
  add("YaRN", [=](double n) { return yarn_inverse_temperature(n / trained); });
  add("NormSoftmax", [&](double) { return normsoftmax_inverse_temperature(scores.score_stddev); });
  add("Llama 4", [=](double n) { return llama4_inverse_temperature(n, trained, 0.1); });
  add("Mistral", [=](double n) { return mistral_inverse_temperature(n, trained, 0.1); });
  if (held != Held::needle_weight || !(scores.gap > 0)) return rules;
  const auto ssa = nearest_ssa(1.0, scores, lengths.front(), target);
  if (!(ssa.exponent >= 1)) {
    add_absent("SSA b = 1", "no exponent from 1 to 64 gives the needle its weight");
    return rules;
  }
  TemperatureRule rule{.name = "SSA b = 1, k = " + short_text(ssa.exponent, 4),
                       .inverse_temperature = {},
                       .value = {},
                       .reason = "SSA is a map and has no inverse temperature"};
  for (const std::int64_t n : lengths) {
    rule.inverse_temperature.push_back(std::numeric_limits<double>::quiet_NaN());
    rule.value.push_back(
        laws::ssa_needle_weight<double>(ssa, n - 1, scores.score_stddev * scores.score_stddev, scores.gap).value);
  }
  rules.push_back(rule);
  return rules;
}

}  // namespace incontext::calibration
