#pragma once

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/regression/regression_run.hpp"
#include "incontext/simulate/regression/regression_types.hpp"

/// The sizes of what a trial on the rows of a data set adds.
namespace incontext::simulate::detail {

/// The root mean squares of what a trial adds, on which its rounding error depends, for contexts drawn from the rows of
/// a data set. Their scores are computed with the mean over the rows, which is then subtracted.
template <class Map>
RegressionScales scales_on_rows(const regression::Attention<double>& attention, const regression::Matrix<double>& rows,
                                const RowLabels& labels) {
  const double share = 1 / static_cast<double>(rows.rows());
  const regression::Matrix<double> moment = share * plain_product(rows.transpose(), rows);
  const regression::Matrix<double> centered = rows.rowwise() - plain_mean(rows).transpose();
  const regression::Matrix<double> covariance = share * plain_product(centered.transpose(), centered);
  double label_square = labels.noise_variance, label_variance = labels.noise_variance;
  if (labels.labels.size() > 0) {
    label_square = share * labels.labels.squaredNorm();
    label_variance = share * (labels.labels.array() - labels.labels.mean()).square().sum();
  } else {
    const regression::Matrix<double> task_moment =
        labels.task_covariance + plain_product(labels.task_mean, labels.task_mean.transpose());
    label_square += trace_of_product(task_moment, moment);
    label_variance += trace_of_product(task_moment, covariance);
  }
  RegressionScales scales = regression_scales(attention, moment, covariance, label_square, label_variance);
  if constexpr (reads_raw_scores<Map>) scales.score = scales.raw_score;
  return scales;
}

}  // namespace incontext::simulate::detail
