#pragma once

#include <incontext/core/contracts.hpp>
#include <incontext/scoring/approximate_softmax_error_bounds.hpp>
#include <incontext/scoring/normsoftmax_divisor.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "examples/scores/maps.hpp"
#include "examples/scores/options.hpp"
#include "examples/support/claims.hpp"
#include "examples/support/render.hpp"

/// Figures about the maps: approximate softmax, SSA's base functions, and the largest weight of NormSoftmax.
namespace incontext::examples::scores {

namespace detail {

inline double largest_of(const Numbers& row) { return *std::max_element(row.begin(), row.end()); }

/// Over the row, with the divisor n.
inline double variance_of(const Numbers& row) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, squares = 0;
  for (const double x : row) mean += x / n;
  for (const double x : row) squares += (x - mean) * (x - mean) / n;
  return squares;
}

inline double smallest_of(const Numbers& row) { return *std::min_element(row.begin(), row.end()); }

inline std::vector<std::int64_t> lengths_or(const ScoresOptions& o, std::vector<std::int64_t> defaults) {
  return o.lengths.empty() ? std::move(defaults) : o.lengths;
}

/// n - 1 zeros and one score `gap` above them.
inline Numbers spike(std::int64_t n, double gap) {
  Numbers row(static_cast<std::size_t>(n), 0.0);
  row.back() = gap;
  return row;
}

}  // namespace detail

inline std::vector<Table> approximation_figure(const ScoresOptions& o, Claims& claims) {
  const Numbers z = o.row.empty() ? Numbers{2, 0.5, 0, -1.25, -3.5} : o.row;
  for (const double x : z) {
    if (!std::isfinite(x)) throw InputError("--row: masks have no meaning with --figure approximation");
  }
  const Numbers temperatures = o.temperatures.empty() ? Numbers{0.5, 1, 2, 4, 8, 16} : o.temperatures;
  const auto n = static_cast<std::ptrdiff_t>(z.size());
  const double range = detail::largest_of(z) - detail::smallest_of(z);
  if (!std::isfinite(range / detail::smallest_of(temperatures))) {
    throw InputError("--figure approximation: the range of the scores over the temperature is not a finite number");
  }
  Table weights{.title = "Weights of softmax, of its linearization and of linear attention, n = " + std::to_string(n),
                .columns = {{.name = "temperature", .style = Style::shortest},
                            {.name = "score", .style = Style::shortest},
                            {.name = "softmax", .decimals_as = 1},
                            {.name = "approximate_softmax", .heading = "approximate", .decimals_as = 1},
                            {.name = "linear_attention", .heading = "linear", .decimals_as = 1},
                            {.name = "error", .heading = "softmax - approximate", .decimals_as = 1}}};
  Table bounds{.title = "Error of the linearization, and what it can be at most in a row of this range",
               .columns = {{.name = "temperature", .style = Style::shortest},
                           {.name = "range", .heading = "range / temperature", .digits = 4, .style = Style::shortest},
                           {.name = "smallest_error", .decimals_as = 1},
                           {.name = "infimum", .decimals_as = 1},
                           {.name = "largest_error", .decimals_as = 1},
                           {.name = "supremum", .decimals_as = 1}}};
  Table variances{.title = "Variance of the weights over the row",
                  .columns = {{.name = "temperature", .style = Style::shortest},
                              {.name = "softmax"},
                              {.name = "approximate_softmax", .heading = "approximate"},
                              {.name = "linear_attention", .heading = "linear"},
                              {.name = "inverse_square", .heading = "var(z) / (n τ)²"},
                              {.name = "softmax_ratio", .heading = "softmax / approximate", .digits = 4}}};
  const double spread = detail::variance_of(z);
  double first_variance = 0, first_temperature = 0;
  for (const double tau : temperatures) {
    const Numbers soft = score_map(scoring::Softmax<double>{tau}).weights(z);
    const Numbers approximate = score_map(scoring::ApproximateSoftmax<double>{tau}).weights(z);
    const Numbers linear = score_map(scoring::LinearAttention<double>{tau}).weights(z);
    Numbers error;
    for (std::size_t i = 0; i < z.size(); ++i) {
      error.push_back(soft[i] - approximate[i]);
      weights.add_row({tau, z[i], soft[i], approximate[i], linear[i], error[i]});
    }
    const double law = spread / std::pow(static_cast<double>(n) * tau, 2), variance = detail::variance_of(approximate);
    variances.add_row({tau, detail::variance_of(soft), variance, detail::variance_of(linear), law,
                       variance > 0 ? Cell(detail::variance_of(soft) / variance) : Cell()});
    // what rounding leaves of a variance: weights are near 1/n, and their mean is taken off
    const double deviation = std::sqrt(spread), largest = std::max(std::abs(detail::largest_of(z)), range);
    if (std::isnormal(law) && std::isfinite(variance) && largest < 1e5 * deviation && tau < 1e5 * deviation) {
      const std::string here = "temperature " + short_text(tau, 6);
      claims.equal("variance of approximate softmax' weights: var(z) / (n tau)^2", here, variance, law);
      if (!(first_variance > 0)) {
        first_variance = variance;
        first_temperature = tau;
      } else if (std::abs(tau / first_temperature - 1) > 0.01) {
        claims.differs("control: that variance goes as 1/tau", here, variance,
                       first_variance * first_temperature / tau);
      }
    }
    const double scaled = range / tau;
    const double infimum = scoring::approximate_softmax_error_infimum(n, scaled).value;
    const double supremum = scoring::approximate_softmax_error_supremum(n, scaled);
    bounds.add_row({tau, scaled, detail::smallest_of(error), infimum, detail::largest_of(error), supremum});
    const std::string at = "temperature " + short_text(tau, 6);
    claims.at_most("error at most the supremum", at, detail::largest_of(error), supremum + 1e-15);
    claims.at_least("error at least the infimum", at, detail::smallest_of(error), infimum - 1e-15);
  }
  bounds.notes.push_back(
      "A weight of the linearization is negative where a score lies more than the temperature below the mean.");
  variances.notes = {
      "Approximate softmax' weights are (1 + (z - mean)/tau) / n: their variance goes as the inverse square of the "
      "temperature, their standard deviation as its inverse. Linear attention has the same variance, about another "
      "mean."};
  return {std::move(weights), std::move(variances), std::move(bounds)};
}

namespace detail {

using ComplexRow = std::vector<std::complex<double>>;

/// SSA's weights by their definition, for a complex base or exponent.
inline ComplexRow ssa_by_definition(const std::complex<double>& base, const std::complex<double>& exponent,
                                    const Numbers& z) {
  ComplexRow result;
  std::complex<double> sum = 0;
  for (const double x : z) {
    result.push_back(std::pow(1.0 + base * std::abs(x), x < 0 ? -exponent : exponent));
    sum += result.back();
  }
  for (auto& weight : result) weight /= sum;
  return result;
}

/// The derivatives of SSA's weights by its two parameters, beside the complex step: Im a(b + i h) / h, without
/// cancellation at any h. The control is the derivative of w alone, as if the weights were not normalized.
inline Table ssa_derivatives(Claims& claims) {
  constexpr double h = 1e-100;
  const Numbers z{-3, -0.5, 0, 1, 2.5};
  Table table{.title = "Derivatives of SSA's weights of the row (-3, -0.5, 0, 1, 2.5) by its parameters",
              .columns = {{.name = "base", .heading = "b", .style = Style::shortest},
                          {.name = "exponent", .heading = "k", .style = Style::shortest},
                          {.name = "score", .style = Style::shortest},
                          {"weight"},
                          {.name = "by_base", .heading = "d/db"},
                          {.name = "by_base_complex_step", .heading = "complex step"},
                          {.name = "by_exponent", .heading = "d/dk"},
                          {.name = "by_exponent_complex_step", .heading = "complex step"}}};
  for (const scoring::SSA<double>& map : {scoring::SSA<double>{1, 1.5}, {0.5, 2}, {2, 1.1}}) {
    Numbers weight(z.size()), by_base(z.size()), by_exponent(z.size());
    weights(map, z, weight);
    derivative(map, scoring::parameter::Base{}, z, by_base);
    derivative(map, scoring::parameter::Exponent{}, z, by_exponent);
    const ComplexRow base_step = ssa_by_definition({map.base, h}, map.exponent, z);
    const ComplexRow exponent_step = ssa_by_definition(map.base, {map.exponent, h}, z);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const double of_base = base_step[i].imag() / h, of_exponent = exponent_step[i].imag() / h;
      table.add_row({map.base, map.exponent, z[i], weight[i], by_base[i], of_base, by_exponent[i], of_exponent});
      const std::string at =
          "b = " + short_text(map.base, 6) + ", k = " + short_text(map.exponent, 6) + ", score " + short_text(z[i], 6);
      claims.equal("derivative by b: the complex step", at, by_base[i], of_base);
      claims.equal("derivative by k: the complex step", at, by_exponent[i], of_exponent);
      const double sign = z[i] < 0 ? -1 : 1, grown = 1 + map.base * std::abs(z[i]);
      if (z[i] == 0) continue;
      claims.differs("control: derivative by b without the normalization", at, by_base[i],
                     weight[i] * sign * map.exponent * std::abs(z[i]) / grown);
      claims.differs("control: derivative by k without the normalization", at, by_exponent[i],
                     weight[i] * sign * std::log(grown));
    }
  }
  table.notes = {"Complex step: the imaginary part of the weights by their definition at b + ih or k + ih, over h."};
  return table;
}

}  // namespace detail

inline std::vector<Table> ssa_base_figure(Claims& claims) {
  const std::vector<scoring::SSA<double>> maps{{1, 1.1}, {1, 1.5}, {1, 2}, {0.5, 1.5}, {2, 1.5}, {1.0 / 64, 64}};
  Table table{.title = "SSA's base functions w(z) = (1 + b|z|)^(sgn(z) k) beside e^z",
              .columns = {{.name = "score", .style = Style::shortest}, {"exponential"}}};
  for (const auto& map : maps) {
    const std::string b = short_text(map.base, 6), k = short_text(map.exponent, 6);
    table.columns.push_back({.name = "b_" + b + "_k_" + k, .heading = "b=" + (map.base < 0.1 ? "1/k" : b) + ",k=" + k});
  }
  // The weights of the row (z, 0) are in the ratio w(z) : w(0) = 1.
  const auto log_base = [](const ScoreMap& map, double z) {
    const Numbers logs = map.log_weights({z, 0});
    return logs[0] - logs[1];
  };
  const ScoreMap softmax = score_map(scoring::Softmax<double>{});
  for (const double z : {-8., -4., -2., -1., -0.5, 0., 0.5, 1., 2., 4., 8.}) {
    std::vector<Cell> cells(1, z);
    cells.emplace_back(std::exp(log_base(softmax, z)));
    for (const auto& map : maps) cells.push_back(std::exp(log_base(score_map(map), z)));
    table.add_row(std::move(cells));
  }
  for (const auto& ssa : maps) {
    const ScoreMap map = score_map(ssa);
    const std::string at = "b = " + short_text(ssa.base, 6) + ", k = " + short_text(ssa.exponent, 6);
    const double far = std::log((1 + ssa.base * 1e8) / (1 + ssa.base * 1e4));
    claims.equal("w(4) = 1 / w(-4)", at, std::exp(log_base(map, 4)), 1 / std::exp(log_base(map, -4)));
    claims.equal("slope of w at 0 is k b", at, 4 * map.jvp({0, 0}, {1, 0})[0], ssa.exponent * ssa.base);
    claims.differs("control: slope of w at 0 is b", at, 4 * map.jvp({0, 0}, {1, 0})[0], ssa.base);
    const double growth = log_base(map, 1e8) - log_base(map, 1e4);
    claims.equal("growth from 1e4 to 1e8 is a power", at, growth, ssa.exponent * far);
    claims.differs("control: growth from 1e4 to 1e8 is linear", at, growth, far);
    if (ssa.exponent > 2) continue;  // too near to softmax, which looks one-hot
    const double power = std::pow(2, ssa.exponent);
    claims.at_most("weights of c (1, 2), c large: 1 to 2^k", at, map.weights({1e12, 2e12})[1], power / (1 + power));
  }
  table.notes = {"w grows like a power of the score, so scaling the scores up alone never makes the weights one-hot.",
                 "b = 1/k with a large k is softmax again: the last column."};
  return {std::move(table), detail::ssa_derivatives(claims)};
}

inline std::vector<Table> normsoftmax_bound_figure(const ScoresOptions& o, Claims& claims) {
  using enum scoring::ScoreScale;
  Table table{.title = "The largest weight NormSoftmax can give on n scores, whatever their scale",
              .columns = {{.name = "n"},
                          {.name = "bound", .decimals_as = 1},
                          {.name = "one_spike", .decimals_as = 1},
                          {.name = "best_random_row", .decimals_as = 1},
                          {.name = "bound_sample", .heading = "bound, n - 1", .decimals_as = 1},
                          {.name = "one_spike_sample", .heading = "one spike, n - 1", .decimals_as = 1}}};
  const double never_capped = 1e300;
  const ScoreMap population = score_map(scoring::NormSoftmax<double>{never_capped, population_stddev});
  const ScoreMap sample = score_map(scoring::NormSoftmax<double>{never_capped, sample_stddev});
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : detail::lengths_or(o, {2, 3, 5, 7, 10, 20, 50, 100, 1000})) {
    const double bound = scoring::normsoftmax_largest_weight(n, population_stddev);
    const double bound_sample = scoring::normsoftmax_largest_weight(n, sample_stddev);
    const double spike = detail::largest_of(population.weights(detail::spike(n, 3)));
    const double spike_sample = detail::largest_of(sample.weights(detail::spike(n, 3)));
    double best = 0;
    for (int trial = 0; trial < std::clamp<std::int64_t>(200000 / n, 3, 2000); ++trial) {
      Numbers row(static_cast<std::size_t>(n));
      for (double& x : row) x = normal(engine);
      row[0] += trial % 20;
      best = std::max(best, detail::largest_of(population.weights(row)));
    }
    table.add_row({n, bound, spike, best, bound_sample, spike_sample});
    const std::string at = "n = " + std::to_string(n);
    claims.equal("one spike attains the bound", at, spike, bound);
    claims.equal("one spike attains the bound, divisor n - 1", at, spike_sample, bound_sample);
    if (n <= 20) claims.differs("control: the bound of the divisor n - 1", at, spike, bound_sample);
    claims.at_most("no random row exceeds the bound", at, best, bound);
    claims.at_least("the bound is smallest at n = 7", at, bound, scoring::normsoftmax_largest_weight(7));
  }
  table.notes = {
      "Spread is the standard deviation with divisor n, or n - 1 where the column says so; tau does not cap it.",
      "The spike's height does not matter: the map is invariant under scaling."};
  return {std::move(table)};
}

}  // namespace incontext::examples::scores
