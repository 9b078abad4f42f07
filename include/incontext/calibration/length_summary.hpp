#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "incontext/calibration/centered_needle.hpp"
#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/normal_row.hpp"
#include "incontext/calibration/normality.hpp"

namespace incontext::calibration {

/// The scores and the weights of the rows of one octave of lengths. Errors are standard errors over batches of rows.
///
/// Units     mean, stddev_of_row_means and score_stddev of the scores, entropy in nats, effective keys a number of
///           keys, the rest dimensionless; NaN where there is no such number.
struct LengthSummary {
  std::int64_t shortest_row;
  std::int64_t longest_row;
  std::int64_t rows;
  double mean;
  double stddev_of_row_means;
  double score_stddev;
  double score_stddev_error;
  double variance_differs;  ///< half the relative standard deviation, over rows, of the rows' own variance
  double skewness;
  double skewness_error;
  double excess_kurtosis;
  double excess_kurtosis_error;
  double highest;  ///< the mean over rows of the highest score, in standard deviations above the row's mean
  double normality_p_value;
  double entropy;
  double entropy_error;
  double entropy_predicted;
  double effective_keys;
  double effective_keys_predicted;
  double largest_weight;
  double largest_weight_predicted;
  double needle_weight;
  double needle_weight_predicted;  ///< at the middle length
};

/// How much the rows of an octave differ in their width: about the relative standard deviation, over rows, of a row's own
/// standard deviation, without what chance adds.
///
/// \f[ \frac12 \sqrt{\frac{\mathrm{Var}\, v}{(E v)^2} - \frac{2 + \kappa}{n}} \f]
///
/// v is the variance of a row's n scores, kappa their excess kurtosis.
///
/// Source    derived: the variance of a sample's variance, and the standard deviation as the root of the variance.
/// Domain    a bucket from measure_heads whose scores vary.
/// Limits    rows of one law: 0, to the error of the estimate.
/// Accuracy  as row_statistics: tests/calibration/advice.cpp.
inline double width_difference(const LengthBucket& bucket) {
  const auto mean = [&](RowStatistic which) { return bucket.full.estimate(which).mean; };
  const double variance = mean(RowStatistic::variance);
  const double relative = mean(RowStatistic::squared_variance) / (variance * variance) - 1;
  const double middle = static_cast<double>(bucket.shortest + bucket.longest) / 2;
  return std::sqrt((std::max)(relative - (2 + mean(RowStatistic::excess_kurtosis)) / middle, 0.0)) / 2;
}

/// Summarizes the rows of one octave, measured with a needle of the given gap, beside the law of normal rows.
///
/// Source    derived: docs/theory/calibration.md#row-statistics and #prediction-with-error.
/// Units     as LengthSummary; gap of the scores.
/// Domain    a bucket from measure_heads.
/// Errors    numerics::QuadratureError.
/// Accuracy  as row_statistics and compare_with_normal_rows: tests/calibration/head_detail.cpp.
inline LengthSummary summary_of(const LengthBucket& bucket, double gap) {
  const auto estimate = [&](RowStatistic which) { return bucket.full.estimate(which); };
  const auto mean = estimate(RowStatistic::mean), variance = estimate(RowStatistic::variance);
  const double stddev = std::sqrt(variance.mean);
  const double means = estimate(RowStatistic::squared_mean).mean - mean.mean * mean.mean;
  const double differences = estimate(RowStatistic::squared_variance).mean - variance.mean * variance.mean;
  const auto skewness = estimate(RowStatistic::skewness), kurtosis = estimate(RowStatistic::excess_kurtosis);
  const auto entropy = estimate(RowStatistic::entropy);
  const auto compared = compare_with_normal_rows(bucket);
  const auto middle = (bucket.shortest + bucket.longest) / 2;
  return {.shortest_row = bucket.shortest,
          .longest_row = bucket.longest,
          .rows = bucket.rows,
          .mean = mean.mean,
          .stddev_of_row_means = std::sqrt((std::max)(means, 0.0)),
          .score_stddev = stddev,
          .score_stddev_error = variance.standard_error / (2 * stddev),
          .variance_differs = std::sqrt((std::max)(differences, 0.0)) / (2 * variance.mean),
          .skewness = skewness.mean,
          .skewness_error = skewness.standard_error,
          .excess_kurtosis = kurtosis.mean,
          .excess_kurtosis_error = kurtosis.standard_error,
          .highest = estimate(RowStatistic::highest).mean,
          .normality_p_value = test_normality(bucket.full).p_value,
          .entropy = entropy.mean,
          .entropy_error = entropy.standard_error,
          .entropy_predicted = compared.entropy.theory,
          .effective_keys = 1 / compared.ipr.estimate.mean,
          .effective_keys_predicted = 1 / compared.ipr.theory,
          .largest_weight = compared.largest_weight.estimate.mean,
          .largest_weight_predicted = compared.largest_weight.theory,
          .needle_weight = estimate(RowStatistic::needle_weight).mean,
          .needle_weight_predicted = centered_needle_weight(middle, compared.score_stddev, gap).value};
}

}  // namespace incontext::calibration
