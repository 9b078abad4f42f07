#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/floating_point.hpp"

/// Whether values are independent draws from the uniform law, by Kolmogorov and Smirnov's test.
namespace incontext::statistics {

/// The largest distance between the empirical distribution of values in [0, 1] and the uniform one.
///
/// \f[ D_n = \sup_x |F_n(x) - x| \f]
///
/// Source    Kolmogorov 1933: docs/theory/statistics.md#uniformity.
/// Shapes    values: n -> one number
/// Units     a probability.
/// Domain    n >= 1, values in [0, 1].
/// Limits    n = 1: between 1/2 and 1.
/// Errors    std::invalid_argument without values, std::domain_error for a value outside the domain, NaN too.
/// Accuracy  exact up to rounding (tests/statistics/kolmogorov_smirnov.cpp).
inline double kolmogorov_smirnov_statistic(std::vector<double> values) {
  require_at_least("statistics::kolmogorov_smirnov_statistic", "number of values", values.size(), std::size_t{1});
  for (const double value : values) {
    if (!(value >= 0 && value <= 1)) {
      throw_domain_error("statistics::kolmogorov_smirnov_statistic", "a value is not a probability", value,
                         "0 <= value <= 1");
    }
  }
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto before = static_cast<double>(i) / n, after = static_cast<double>(i + 1) / n;
    largest = (std::max)({largest, values[i] - before, after - values[i]});
  }
  return largest;
}

/// The probability that Kolmogorov and Smirnov's statistic of `count` independent uniform values is at least
/// `statistic`.
///
/// \f[ P(D_n \ge d) = 1 - \frac{n!}{n^n} (H^n)_{kk} \f]
///
/// d is `statistic` and n is `count`. H is a band matrix of size 2k - 1 with k = floor(n d) + 1, whose entries are
/// inverse factorials. Its size grows with n d, and the number of matrix products with log n. n = 1000 takes
/// milliseconds. Where n d^2 > 14.5, the bound 2 exp(-2 n d^2) takes the formula's place.
///
/// Source    Durbin 1973, as Marsaglia, Tsang and Wang 2003 compute it: docs/theory/statistics.md#uniformity.
/// Units     a probability.
/// Domain    statistic in [0, 1], count >= 1; counts above 100000 take minutes.
/// Limits    statistic <= 1/(2n): 1; statistic 1: 0.
/// Errors    std::invalid_argument for count < 1, std::domain_error for a statistic outside the domain, NaN too.
/// Accuracy  1e-12 absolute for counts up to 20000 (tests/statistics/kolmogorov_smirnov.cpp).
inline double kolmogorov_smirnov_p_value(double statistic, std::int64_t count);

// The band matrix whose powers count the paths of an empirical distribution that stay near the uniform one.
namespace detail {

/// A square matrix times two to an exponent, so that high powers neither overflow nor vanish.
struct ScaledMatrix {
  std::size_t size;
  std::vector<double> entries;
  std::int64_t exponent = 0;

  double& at(std::size_t i, std::size_t j) { return entries[i * size + j]; }
  double at(std::size_t i, std::size_t j) const { return entries[i * size + j]; }
};

inline ScaledMatrix product(const ScaledMatrix& left, const ScaledMatrix& right) {
  ScaledMatrix result{left.size, std::vector<double>(left.entries.size()), left.exponent + right.exponent};
  for (std::size_t i = 0; i < left.size; ++i) {
    for (std::size_t k = 0; k < left.size; ++k) {
      for (std::size_t j = 0; j < left.size; ++j) result.at(i, j) += left.at(i, k) * right.at(k, j);
    }
  }
  if (result.at(left.size / 2, left.size / 2) > 0x1p400) {
    for (double& entry : result.entries) entry *= 0x1p-400;
    result.exponent += 400;
  }
  return result;
}

inline ScaledMatrix power(const ScaledMatrix& base, std::int64_t exponent) {
  if (exponent == 1) return base;
  const ScaledMatrix half = power(base, exponent / 2), square = product(half, half);
  return exponent % 2 == 0 ? square : product(base, square);
}

/// The matrix H of Marsaglia, Tsang and Wang, for paths that stay within (k - h)/n of the uniform law, 0 <= h < 1.
inline ScaledMatrix crossing_matrix(std::size_t k, double h) {
  const std::size_t m = 2 * k - 1;
  ScaledMatrix matrix{m, std::vector<double>(m * m)};
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < (std::min)(i + 2, m); ++j) matrix.at(i, j) = 1;
  }
  for (std::size_t i = 0; i < m; ++i) {
    matrix.at(i, 0) -= std::pow(h, static_cast<double>(i + 1));
    matrix.at(m - 1, i) -= std::pow(h, static_cast<double>(m - i));
  }
  if (2 * h > 1) matrix.at(m - 1, 0) += std::pow(2 * h - 1, static_cast<double>(m));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < (std::min)(i + 1, m); ++j) {
      matrix.at(i, j) /= std::tgamma(static_cast<double>(i - j) + 2);
    }
  }
  return matrix;
}

/// log(2^exponent n! / n^n). Both powers are large and cancel: log 2 is split in two, of which one has so few digits that
/// its product is exact, and Stirling's series is that of the quotient.
inline double log_scaled_factorial(std::int64_t exponent, double n) {
  constexpr double log2_high = 0x1.62e42fefa38p-1, log2_low = 0x1.ef35793c7673p-45;
  const auto e = static_cast<double>(exponent);
  if (n < 16) return e * (log2_high + log2_low) + std::lgamma(n + 1) - n * std::log(n);
  const double r = 1 / (n * n);
  const double series = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / n;
  return (e * log2_high - n) + e * log2_low + std::log(2 * std::numbers::pi * n) / 2 + series;
}

}  // namespace detail

inline double kolmogorov_smirnov_p_value(double statistic, std::int64_t count) {
  require_at_least("statistics::kolmogorov_smirnov_p_value", "count", count, std::int64_t{1});
  if (!(statistic >= 0 && statistic <= 1)) {
    throw_domain_error("statistics::kolmogorov_smirnov_p_value", "statistic is not a probability", statistic,
                       "0 <= statistic <= 1");
  }
  const auto n = static_cast<double>(count);
  if (2 * n * statistic <= 1) return 1;
  if (statistic >= 1) return 0;
  // Beyond this the probability is below 1e-12 (Massart 1990: at most 2 exp(-2 n d^2)), and factorials could overflow.
  constexpr double negligible = 14.5;
  if (n * statistic * statistic > negligible) return 2 * std::exp(-2 * n * statistic * statistic);
  const auto k = static_cast<std::size_t>(n * statistic) + 1;
  const detail::ScaledMatrix powered =
      detail::power(detail::crossing_matrix(k, static_cast<double>(k) - n * statistic), count);
  const double logarithm = std::log(powered.at(k - 1, k - 1)) + detail::log_scaled_factorial(powered.exponent, n);
  return std::clamp(1 - std::exp(logarithm), 0.0, 1.0);
}

}  // namespace incontext::statistics
