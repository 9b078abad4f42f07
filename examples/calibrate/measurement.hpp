#pragma once

#include <incontext/calibration/head_detail.hpp>
#include <incontext/calibration/shifted_temperature.hpp>

#include <vector>

#include "examples/calibrate/mapped_scores.hpp"
#include "examples/calibrate/options.hpp"

/// The passes over the scores; measurement.cpp alone is compiled with full optimization. Refusals name the file.
namespace incontext::examples::calibrate {

/// Measures every head.
std::vector<calibration::HeadMeasurement> measure(const MappedScores& scores, const CalibrateOptions& o);

/// The conclusions about every head, computed by threads.
std::vector<calibration::HeadCalibration> calibrate_all(const std::vector<calibration::HeadMeasurement>& heads,
                                                        const CalibrateOptions& o);

/// One head in detail.
calibration::HeadDetail describe(const MappedScores& scores, const calibration::HeadCalibration& head,
                                 const CalibrateOptions& o);

/// The moment-ratio temperature of a head on two samples.
calibration::ShiftedTemperature shifted(const MappedScores& training, const MappedScores& shifted, HeadPlace place,
                                        const CalibrateOptions& o);

}  // namespace incontext::examples::calibrate
