#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "incontext/calibration/row_statistics.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::calibration {

namespace detail {

/// The mean of values and its standard error.
inline statistics::Estimate estimate_of(const std::vector<double>& values) {
  return statistics::Estimate(
      statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size()), statistics::SerialWays{}));
}

}  // namespace detail

/// Means over batches of successive rows, in one pass over rows whose number is not known in advance.
///
/// \f[ \bar y = \frac1B \sum_b y_b,\qquad \mathrm{se}^2 = \frac{1}{B (B - 1)} \sum_b (y_b - \bar y)^2 \f]
///
/// Successive rows of a head are correlated, so that the rows' own variance would give too small an error. The means of
/// batches are nearly independent if the batches are much longer than the correlation. There are at most 64 batches:
/// when a 65th begins, neighboring batches are joined in pairs and batches become twice as long. Rows after the last
/// whole batch, at most one row in 33, are left out.
///
/// Source    batch means: Conway 1963; doubling: docs/theory/calibration.md#batch-means.
/// Limits    fewer than two batches: standard error NaN.
/// Accuracy  tests/calibration/batch_means.cpp.
class BatchMeans {
 public:
  static constexpr std::size_t most_batches = 64;

  void add(const RowStatistics& row) {
    for (std::size_t i = 0; i < row_statistic_count; ++i) partial_.data()[i] += row.data()[i];
    if (++rows_in_partial_ < batch_size_) return;
    if (batches_.size() == most_batches) join_pairs();
    if (rows_in_partial_ < batch_size_) return;
    for (double& value : partial_) value /= static_cast<double>(batch_size_);
    batches_.push_back(partial_);
    partial_ = {};
    rows_in_partial_ = 0;
  }

  std::int64_t rows() const { return batch_size_ * static_cast<std::int64_t>(batches_.size()); }
  std::int64_t batch_size() const { return batch_size_; }
  const std::vector<RowStatistics>& batches() const { return batches_; }

  /// Mean and standard error over the batches of a function of a batch's means.
  statistics::Estimate estimate(const std::function<double(const RowStatistics&)>& value) const {
    std::vector<double> values(batches_.size());
    std::transform(batches_.begin(), batches_.end(), values.begin(), value);
    return detail::estimate_of(values);
  }
  statistics::Estimate estimate(RowStatistic which) const {
    return estimate([which](const RowStatistics& batch) { return batch[which]; });
  }

  /// Every second batch, beginning with number `first`, which is 0 or 1. The two halves have no row in common.
  BatchMeans half(std::size_t first) const {
    BatchMeans result;
    result.batch_size_ = batch_size_;
    for (std::size_t b = first; b < batches_.size(); b += 2) result.batches_.push_back(batches_[b]);
    return result;
  }

 private:
  void join_pairs() {
    for (std::size_t b = 0; b < most_batches / 2; ++b) {
      for (std::size_t i = 0; i < row_statistic_count; ++i) {
        batches_[b].data()[i] = (batches_[2 * b].data()[i] + batches_[2 * b + 1].data()[i]) / 2;
      }
    }
    batches_.resize(most_batches / 2);
    batch_size_ *= 2;
  }

  std::vector<RowStatistics> batches_ = {};
  RowStatistics partial_{};
  std::int64_t batch_size_ = 1;
  std::int64_t rows_in_partial_ = 0;
};

}  // namespace incontext::calibration
