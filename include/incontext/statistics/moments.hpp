#pragma once

#include <cstdint>
#include <cstring>

#include "incontext/core/host_device.hpp"

namespace incontext::statistics {

/// Count, mean and centered sum of squares of a sample. Values that are not finite are counted separately and left out.
///
/// Source    Welford 1962; Chan, Golub, LeVeque 1983.
/// Units     mean in the sample's unit, sum_of_squares in its square.
/// Limits    no value: all zero.
/// Accuracy  as merge() and moments_of(), whose bounds are in units of eps = 2^-52.
/// Runs on   host and device
struct Moments {
  std::int64_t count = 0;
  double mean = 0;
  double sum_of_squares = 0;
  std::int64_t non_finite = 0;
};

/// Whether two moments are the same numbers to the last bit; unlike ==, which is false for NaN and true for 0 and -0.
inline bool same_bits(const Moments& a, const Moments& b) {
  const auto bits = [](double x) {
    std::uint64_t result = 0;
    std::memcpy(&result, &x, sizeof result);
    return result;
  };
  return a.count == b.count && a.non_finite == b.non_finite && bits(a.mean) == bits(b.mean) &&
         bits(a.sum_of_squares) == bits(b.sum_of_squares);
}

/// Moments of two samples put together.
///
/// \f[ \delta = m_b - m_a,\quad m = m_a + \delta n_b/n,\quad Q = Q_a + Q_b + \delta^2 n_a n_b/n \f]
///
/// Source    Chan, Golub, LeVeque 1983; derivation: docs/theory/statistics.md#moments.
/// Limits    an empty side returns the other, bit by bit.
/// Accuracy  after 4e4 merges: mean to 32 of the root mean square, sum of squares to 32 + (root mean square / standard
///           deviation) of itself (tests/statistics/moments_50digits.cpp).
/// Runs on   host and device
INCONTEXT_HD inline Moments merge(const Moments& a, const Moments& b) {
  Moments result = a.count == 0 ? b : a;
  result.non_finite = a.non_finite + b.non_finite;
  if (a.count == 0 || b.count == 0) return result;
  const auto count_a = static_cast<double>(a.count);
  const auto count_b = static_cast<double>(b.count);
  const double share = count_b / (count_a + count_b);
  const double delta = b.mean - a.mean;
  result.count = a.count + b.count;
  result.mean = a.mean + delta * share;
  result.sum_of_squares = a.sum_of_squares + b.sum_of_squares + delta * delta * (count_a * share);
  return result;
}

/// The number of partial sums, called ways, of moments_of: value i is added to way i % moment_ways, in the order of i.
///
/// Runs on   host and device
inline constexpr int moment_ways = 16;

/// Adds the ways up, by a binary tree of a fixed shape: calls add(half) for half = 8, 4, 2, 1, which must add way
/// i + half to way i for all i < half. The sum is then way 0.
///
/// Runs on   host and device
template <class Add>
INCONTEXT_HD void fold_ways(const Add& add) {
  for (int half = moment_ways / 2; half > 0; half /= 2) add(half);
}

/// The sum of one way: of term(values[way]), term(values[way + 16]), ...
///
/// Shapes    values: count numbers, contiguous; 0 <= way < moment_ways.
/// Runs on   host and device
template <class T, class Term>
INCONTEXT_HD double sum_of_way(const T* values, std::int64_t count, int way, const Term& term) {
  double sum = 0;
  for (std::int64_t i = way; i < count; i += moment_ways) sum += term(static_cast<double>(values[i]));
  return sum;
}

/// The ways of moments_of in one thread.
///
/// Runs on   host and device
struct SerialWays {
  /// The sum of term(value) over the values.
  template <class T, class Term>
  INCONTEXT_HD double sum(const T* values, std::int64_t count, const Term& term) const {
    double ways[moment_ways] = {};
    std::int64_t at = 0;
    // Whole blocks have a constant length, which vectorizes.
    for (; at + moment_ways <= count; at += moment_ways) {
      for (int i = 0; i < moment_ways; ++i) ways[i] += term(static_cast<double>(values[at + i]));
    }
    for (int i = 0; at + i < count; ++i) ways[i] += term(static_cast<double>(values[at + i]));
    fold_ways([&](int half) {
      for (int i = 0; i < half; ++i) ways[i] += ways[i + half];
    });
    return ways[0];
  }
};

/// Moments of consecutive values by two passes in double. Sixteen partial sums are added in a fixed order, so that the
/// bits do not depend on how the compiler vectorizes, nor on whether one thread adds them or, on a GPU, sixteen do.
///
/// Source    derived: docs/theory/statistics.md#moments.
/// Shapes    values: count numbers, contiguous; ways.sum(values, count, term) as that of SerialWays.
/// Limits    no finite value: count 0.
/// Accuracy  b = count/16 + 8: mean to b of the root mean square, sum of squares to b of itself, plus the square of the
///           mean's error in standard deviations (tests/statistics/moments_50digits.cpp).
/// Runs on   host and device
template <class T, class Ways = SerialWays>
INCONTEXT_HD Moments moments_of(const T* values, std::int64_t count, const Ways& ways = {}) {
  // The difference of a value and itself is 0 if it is finite, and NaN if not.
  const double finite = ways.sum(values, count, [](double value) { return value - value == 0 ? 1.0 : 0.0; });
  Moments result;
  result.count = static_cast<std::int64_t>(finite);
  result.non_finite = count - result.count;
  if (result.count == 0) return result;
  const double sum = ways.sum(values, count, [](double value) { return value - value == 0 ? value : 0.0; });
  const double mean = sum / finite;
  result.mean = mean;
  result.sum_of_squares = ways.sum(values, count, [mean](double value) {
    const double deviation = value - value == 0 ? value - mean : 0.0;
    return deviation * deviation;
  });
  return result;
}

}  // namespace incontext::statistics
