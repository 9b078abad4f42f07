#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "incontext/calibration/head_measurement.hpp"
#include "incontext/calibration/normal_row.hpp"
#include "incontext/statistics/agreement.hpp"

namespace incontext::calibration {

/// Statistics of whole rows, beside what rows of a quarter of their length predict for them. The two sets of rows
/// belong to different queries.
///
/// Units     variances in the scores' units squared, entropy in nats, the rest dimensionless.
struct HeldOutCheck {
  statistics::Agreement variance;  ///< theory: the mean variance of quarter rows
  statistics::Agreement entropy;
  statistics::Agreement ipr;
  statistics::Agreement largest_weight;
  std::optional<statistics::Agreement> needle_weight = {};  ///< absent where no gap is given
};

/// Predicts the whole rows of every second batch from the quarter rows of the other batches.
///
/// \f[ \hat v = \mathrm{mean}_{b\,\mathrm{even}}\, v_b^{(1/4)},\qquad
///     z = \frac{\mathrm{mean}_{b\,\mathrm{odd}} (y_b - P(u_b; \hat v))}
///              {\sqrt{\mathrm{se}_{\mathrm{odd}}^2 + P'(\hat v)^2\, \mathrm{se}_{\mathrm{even}}^2(\hat v)}} \f]
///
/// The standard deviation is estimated from a quarter of each row, as a model that has seen only short rows would
/// know it, and the law of normal rows takes it to the whole length. A head whose scores drift with the length, or
/// which is not normal, disagrees.
///
/// Source    derived: docs/theory/calibration.md#held-out-check.
/// Units     as HeldOutCheck; gap that of the measurement, times the inverse temperature.
/// Domain    a bucket of rows longer than 8 with at least four batches.
/// Errors    std::invalid_argument for fewer batches; as NormalRows.
/// Accuracy  normal rows agree, drifting and heavy-tailed rows do not: tests/calibration/held_out.cpp.
inline HeldOutCheck check_held_out(const LengthBucket& bucket, std::optional<double> gap = {}) {
  require_at_least("calibration::check_held_out", "the number of batches of quarter rows",
                   bucket.quarter.batches().size(), std::size_t{4});
  const statistics::Estimate known = bucket.quarter.half(0).estimate(RowStatistic::variance);
  const BatchMeans held_out = bucket.full.half(1);
  const NormalRows law(bucket.shortest, bucket.longest, std::sqrt(known.mean), gap);
  const auto with_error = [&](statistics::Estimate measured, double error, double slope) {
    measured.standard_error = std::hypot(error, slope * known.standard_error);
    measured.count = (std::min)(measured.count, known.count);
    measured.rounding = 1e-12 * (1 + std::abs(measured.mean));
    return measured;
  };
  const auto judged = [&](RowStatistic which) {
    const auto off =
        held_out.estimate([&](const RowStatistics& batch) { return batch[which] - law.predict(which, batch).value; });
    const auto measured = held_out.estimate(which);
    const RowStatistics& some = held_out.batches().front();
    return statistics::agree({measured.mean - off.mean, law.predict(which, some).error},
                             with_error(measured, off.standard_error, law.slope(which, some)));
  };
  const auto variance = held_out.estimate(RowStatistic::variance);
  HeldOutCheck result{statistics::agree(known.mean, with_error(variance, variance.standard_error, 1)),
                      judged(RowStatistic::entropy), judged(RowStatistic::ipr), judged(RowStatistic::largest_weight)};
  if (gap) result.needle_weight = judged(RowStatistic::needle_weight);
  return result;
}

}  // namespace incontext::calibration
