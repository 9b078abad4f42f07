#pragma once

#include <cmath>

namespace incontext::testing {

/// The mean of a sample with its standard error, by Welford's recurrence.
class SampleMean {
 public:
  void add(double value) {
    count_ += 1;
    const double step = value - mean_;
    mean_ += step / count_;
    squares_ += step * (value - mean_);
  }

  double count() const { return count_; }
  double mean() const { return mean_; }
  double variance() const { return squares_ / (count_ - 1); }
  double standard_error() const { return std::sqrt(variance() / count_); }
  double z(double expected) const { return (mean_ - expected) / standard_error(); }

 private:
  double count_ = 0, mean_ = 0, squares_ = 0;
};

}  // namespace incontext::testing
