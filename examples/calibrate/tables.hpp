#pragma once

#include <incontext/calibration/head_detail.hpp>
#include <incontext/calibration/shifted_temperature.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "examples/calibrate/mapped_scores.hpp"
#include "examples/calibrate/options.hpp"
#include "examples/support/table.hpp"

/// The tables of incontext calibrate: all heads, and one head in detail.
namespace incontext::examples::calibrate {

/// A number, or an empty cell for one that is not finite.
inline Cell number(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

std::vector<Table> summary_tables(const std::vector<calibration::HeadCalibration>& heads,
                                  const std::vector<calibration::HeadMeasurement>& measured, const MappedScores& scores,
                                  const CalibrateOptions& o);

/// The tables of one head: measurements by row length, beside the theory, and held out; then the lengths and inverse
/// temperatures that follow, and these tried on the rows of the file.
std::vector<Table> detail_tables(const calibration::HeadDetail& one, const CalibrateOptions& o);

Table shifted_table(const calibration::ShiftedTemperature& found, const std::string& training_file,
                    const std::string& shifted_file, HeadPlace place);

}  // namespace incontext::examples::calibrate
