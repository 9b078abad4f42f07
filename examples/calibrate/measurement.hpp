#pragma once

#include <incontext/calibration/head_calibration.hpp>

#include <vector>

#include "examples/calibrate/mapped_scores.hpp"
#include "examples/calibrate/options.hpp"

/// The pass over the scores; measurement.cpp alone is compiled with full optimization.
namespace incontext::examples::calibrate {

/// Measures every head; refusals name the file.
std::vector<calibration::HeadMeasurement> measure(const MappedScores& scores, const CalibrateOptions& o);

/// Measures one head with a planted needle of that gap.
calibration::HeadMeasurement measure_one(const MappedScores& scores, const CalibrateOptions& o, HeadPlace place,
                                         double gap);

/// The conclusions about every head, computed by threads.
std::vector<calibration::HeadCalibration> calibrate_all(const std::vector<calibration::HeadMeasurement>& heads,
                                                        const CalibrateOptions& o);

}  // namespace incontext::examples::calibrate
