#pragma once

#include <string>

#include "examples/calibrate/tables.hpp"

namespace incontext::examples::calibrate {

/// Entropy and needle weight against the row length, measured and predicted, as the text of an SVG file.
std::string drawing_of(const DetailedHead& one);

}  // namespace incontext::examples::calibrate
