#pragma once

#include <incontext/calibration/head_calibration.hpp>

#include <string>
#include <vector>

#include "examples/calibrate/mapped_scores.hpp"
#include "examples/calibrate/options.hpp"
#include "examples/support/table.hpp"

/// The tables of incontext-calibrate: all heads, and one head in detail.
namespace incontext::examples::calibrate {

/// One head: what the whole run knows of it, and the same rows measured again with the needle of its gap.
struct DetailedHead {
  const calibration::HeadCalibration& head;
  const calibration::HeadMeasurement& measured;
  double gap;
  std::int64_t trained_length;
};

std::vector<Table> summary_tables(const std::vector<calibration::HeadCalibration>& heads,
                                  const std::vector<calibration::HeadMeasurement>& measured, const MappedScores& scores,
                                  const CalibrateOptions& o);

/// By row length; beside the theory; held out; the lengths and inverse temperatures that follow.
std::vector<Table> detail_tables(const DetailedHead& one, const CalibrateOptions& o);

/// A plan tried on the rows at hand: an inverse temperature that, by the law of normal rows and the deviation of quarter
/// rows, gives whole rows what quarter rows have at 1; and the whole rows measured at it.
struct TriedPlan {
  std::string quantity;
  calibration::RowStatistic statistic;
  double inverse_temperature;
  calibration::LengthBucket at_inverse_temperature;
};

/// The plans beside what became of them, on rows that they do not rest on.
Table plan_table(const DetailedHead& one, const std::vector<TriedPlan>& plans);

/// The moment-ratio temperature of a head on two samples.
Table shifted_table(const MappedScores& training, const MappedScores& shifted, HeadPlace place,
                    const CalibrateOptions& o);

}  // namespace incontext::examples::calibrate
