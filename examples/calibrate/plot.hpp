#pragma once

#include <incontext/calibration/head_detail.hpp>

#include <string>

namespace incontext::examples::calibrate {

/// Entropy and needle weight against the row length, measured and predicted, as the text of an SVG file.
std::string drawing_of(const calibration::HeadDetail& one);

}  // namespace incontext::examples::calibrate
