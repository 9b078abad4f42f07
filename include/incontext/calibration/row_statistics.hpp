#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::calibration {

/// What is measured on one row; the index into RowStatistics.
enum class RowStatistic : std::size_t {
  mean,              ///< of the scores
  squared_mean,      ///< the square of the mean; with it, the variance of row means
  variance,          ///< of the scores, divided by n - 1
  squared_variance,  ///< its square; with it, how much rows differ in their variance
  skewness,          ///< third standardized moment
  excess_kurtosis,   ///< fourth standardized moment, minus its mean 3 (n - 1) / (n + 1) in rows of n normal scores
  highest,           ///< highest score minus mean, in standard deviations
  entropy,           ///< of the softmax weights
  ipr,               ///< sum of squared weights
  largest_weight,
  needle_weight,  ///< of one more score, higher than their mean by the needle's gap
  log_length,     ///< u = log n minus the logarithm of the longest length of its octave
  log_length_squared,
  log_length_cubed,
};

/// The number of statistics of a row.
inline constexpr std::size_t row_statistic_count = 14;

/// The statistics of one row, or their mean over rows, indexed by RowStatistic.
///
/// Units     mean of the scores, variance their square, entropy in nats, the rest dimensionless.
struct RowStatistics : std::array<double, row_statistic_count> {
  double& operator[](RowStatistic which) { return data()[static_cast<std::size_t>(which)]; }
  double operator[](RowStatistic which) const { return data()[static_cast<std::size_t>(which)]; }
};

/// The octave of a row length: o for 2^(o-1) < n <= 2^o.
///
/// Domain    row_length >= 1.
inline int octave_of(std::int64_t row_length) {
  int octave = 0;
  while ((std::int64_t{1} << octave) < row_length) ++octave;
  return octave;
}

namespace detail {

/// A power of the distance from a center, as a term of a sum.
template <int power>
struct CenteredPower {
  double center;
  INCONTEXT_HD double operator()(double value) const {
    const double off = value - center, square = off * off;
    return power == 1 ? off : power == 2 ? square : power == 3 ? square * off : square * square;
  }
};

}  // namespace detail

/// The statistics of a row of visible scores under softmax at temperature 1.
///
/// \f[ H = \log Z - \sum_j a_j (z_j - z_{\max}),\qquad a_j = \frac{w_j}{Z},\quad w_j = e^{z_j - z_{\max}},\quad
///     Z = \sum_j w_j \f]
///
/// The skewness and the kurtosis divide by powers of the row's own variance. In rows of independent normal scores of
/// any mean and variance, their means are exactly 0 and 3 (n - 1) / (n + 1).
///
/// Source    derived: docs/theory/calibration.md#row-statistics.
/// Shapes    scores: n finite numbers; weights: scratch of the same size.
/// Units     as RowStatistics; needle_gap of the scores.
/// Domain    n >= 2.
/// Limits    equal scores: variance, skewness, excess kurtosis and highest 0, entropy log n.
/// Accuracy  1e-13 (1 + |z|) beside direct sums in long double: tests/calibration/row_statistics.cpp.
inline RowStatistics row_statistics(std::span<const double> scores, std::span<double> weights, double needle_gap = 0) {
  const statistics::SerialWays ways;
  const auto count = static_cast<std::int64_t>(scores.size());
  const auto n = static_cast<double>(count);
  const double* const z = scores.data();
  const double mean = ways.sum(z, count, detail::CenteredPower<1>{0}) / n;
  const double squares = ways.sum(z, count, detail::CenteredPower<2>{mean});
  const double highest = *std::max_element(scores.begin(), scores.end());
  RowStatistics row{};
  row[RowStatistic::mean] = mean;
  row[RowStatistic::squared_mean] = mean * mean;
  const double lowest_that_varies = n * std::numeric_limits<double>::epsilon() * (std::abs(mean) + std::abs(highest));
  if (squares > n * lowest_that_varies * lowest_that_varies) {
    const double stddev = std::sqrt(squares / n);
    const double cubes = ways.sum(z, count, detail::CenteredPower<3>{mean});
    const double fourth = ways.sum(z, count, detail::CenteredPower<4>{mean});
    row[RowStatistic::variance] = squares / (n - 1);
    row[RowStatistic::squared_variance] = (squares / (n - 1)) * (squares / (n - 1));
    row[RowStatistic::skewness] = cubes / n / (stddev * stddev * stddev);
    row[RowStatistic::excess_kurtosis] = fourth / n / (squares / n) / (squares / n) - 3 * (n - 1) / (n + 1);
    row[RowStatistic::highest] = (highest - mean) / std::sqrt(squares / (n - 1));
  }
  double* const w = weights.data();
  for (std::int64_t j = 0; j < count; ++j) w[j] = elementary::exp(z[j] - highest);
  const double partition_function = ways.sum(w, count, detail::CenteredPower<1>{0});
  const double squared_weights = ways.sum(w, count, detail::CenteredPower<2>{0});
  for (std::int64_t j = 0; j < count; ++j) w[j] *= z[j] - highest;
  const double weighted_scores = ways.sum(w, count, detail::CenteredPower<1>{0});
  row[RowStatistic::entropy] = std::log(partition_function) - weighted_scores / partition_function;
  row[RowStatistic::ipr] = squared_weights / (partition_function * partition_function);
  row[RowStatistic::largest_weight] = 1 / partition_function;
  row[RowStatistic::needle_weight] = 1 / (1 + std::exp(std::log(partition_function) + highest - mean - needle_gap));
  const double u = std::log(std::ldexp(n, -octave_of(count)));
  row[RowStatistic::log_length] = u;
  row[RowStatistic::log_length_squared] = u * u;
  row[RowStatistic::log_length_cubed] = u * u * u;
  return row;
}

}  // namespace incontext::calibration
