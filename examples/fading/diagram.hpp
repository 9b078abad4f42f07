#pragma once

#include <vector>

#include "examples/fading/figures.hpp"

/// The plane in which one token is found among normal competitors or is not.
namespace incontext::examples::fading {

/// For each length: the exact boundary and simulations on it, and the exact weight over the plane.
std::vector<Table> diagram_figure(FadingRun& run);

}  // namespace incontext::examples::fading
