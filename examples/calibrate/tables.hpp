#pragma once

#include <incontext/calibration/head_calibration.hpp>

#include <string>
#include <vector>

#include "examples/calibrate/mapped_scores.hpp"
#include "examples/calibrate/options.hpp"
#include "examples/support/table.hpp"

/// The tables of incontext-calibrate: all heads, and one head in detail.
namespace incontext::examples::calibrate {

/// One head: its result in the whole run, and the same rows measured again with a needle of the given gap.
struct DetailedHead {
  const calibration::HeadCalibration& head;
  const calibration::HeadMeasurement& measured;
  double gap;
  std::int64_t trained_length;
};

std::vector<Table> summary_tables(const std::vector<calibration::HeadCalibration>& heads,
                                  const std::vector<calibration::HeadMeasurement>& measured, const MappedScores& scores,
                                  const CalibrateOptions& o);

/// The tables of one head: measurements by row length, beside the theory, and held out; then the lengths and inverse
/// temperatures that follow.
std::vector<Table> detail_tables(const DetailedHead& one, const CalibrateOptions& o);

/// A plan tried on the rows of the file. By the law of normal rows and the standard deviation of quarter rows, its
/// inverse temperature gives whole rows the value that quarter rows have at 1; whole rows are then measured at it.
struct TriedPlan {
  std::string quantity;
  calibration::RowStatistic statistic;
  double inverse_temperature;
  calibration::LengthBucket at_inverse_temperature;
};

/// The plans beside measurements on rows that the plans were not made from.
Table plan_table(const DetailedHead& one, const std::vector<TriedPlan>& plans);

/// The moment-ratio temperature of a head on two samples.
Table shifted_table(const MappedScores& training, const MappedScores& shifted, HeadPlace place,
                    const CalibrateOptions& o);

}  // namespace incontext::examples::calibrate
