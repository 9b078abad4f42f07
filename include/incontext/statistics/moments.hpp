#pragma once

#include <cstdint>

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

/// Moments of two samples put together.
///
/// \f[ \delta = m_b - m_a,\quad m = m_a + \delta n_b/n,\quad Q = Q_a + Q_b + \delta^2 n_a n_b/n \f]
///
/// Source    Chan, Golub, LeVeque 1983; derivation: docs/theory/statistics.md#moments.
/// Units     as Moments.
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

/// Moments of consecutive values by two passes in double. Sixteen partial sums are added in a fixed order, so that the
/// bits do not depend on how the compiler vectorizes.
///
/// Source    derived: docs/theory/statistics.md#moments.
/// Shapes    values: count numbers, contiguous.
/// Units     as the values.
/// Limits    no finite value: count 0.
/// Accuracy  b = count/16 + 8: mean to b of the root mean square, sum of squares to b of itself, plus the square of the
///           mean's error in standard deviations (tests/statistics/moments_50digits.cpp).
/// Runs on   host and device
template <class T>
INCONTEXT_HD Moments moments_of(const T* values, std::int64_t count) {
  constexpr int ways = 16;
  const auto fold = [](double(&partial)[ways]) {
    for (int half = ways / 2; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) partial[i] += partial[i + half];
    }
    return partial[0];
  };
  // Whole blocks have a constant length, which vectorizes.
  const auto over_blocks = [&](const auto& add) {
    std::int64_t at = 0;
    for (; at + ways <= count; at += ways) {
      for (int i = 0; i < ways; ++i) add(i, static_cast<double>(values[at + i]));
    }
    for (int i = 0; at + i < count; ++i) add(i, static_cast<double>(values[at + i]));
  };
  double sum[ways] = {};
  double finite[ways] = {};
  over_blocks([&](int i, double value) { sum[i] += value - value == 0 ? value : 0.0; });
  over_blocks([&](int i, double value) { finite[i] += value - value == 0 ? 1.0 : 0.0; });
  Moments result;
  const double finite_count = fold(finite);
  result.count = static_cast<std::int64_t>(finite_count);
  result.non_finite = count - result.count;
  if (result.count == 0) return result;
  result.mean = fold(sum) / finite_count;

  double square[ways] = {};
  over_blocks([&](int i, double value) {
    const double deviation = value - value == 0 ? value - result.mean : 0.0;
    square[i] += deviation * deviation;
  });
  result.sum_of_squares = fold(square);
  return result;
}

}  // namespace incontext::statistics
