#pragma once

#include <vector>

#include "examples/fading/figures.hpp"

namespace incontext::examples::fading {

/// The inverse temperature of least cross entropy against the row length, and the law it follows.
std::vector<Table> optimum_figure(FadingRun& run);

}  // namespace incontext::examples::fading
